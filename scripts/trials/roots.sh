# Roots of Debian releases to try things in; sourced by scripts/static-trials.sh and scripts/package-trials.sh.
# They are made by debootstrap once and kept below FATHOM_TRIAL_ROOTS; a trial gets a layer over one, which is thrown away.
trial_roots=${FATHOM_TRIAL_ROOTS:-$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")/build/roots}
trial_mirror=${FATHOM_TRIAL_MIRROR:-} # empty: the one that debootstrap knows

trial_suite() { # PLACE: its suite; nothing for a place that is no Debian
  case $1 in
    debian11) echo bullseye ;;
    debian12) echo bookworm ;;
    debian13) echo trixie ;;
  esac
}

make_trial_roots() { # PLACE...
  local place suite
  mkdir -p "$trial_roots"
  for place in "$@"; do
    suite=$(trial_suite "$place")
    if [ -z "$suite" ] || [ -e "$trial_roots/$suite/.complete" ]; then continue; fi
    echo "making a root of $suite"
    rm -rf --one-file-system "${trial_roots:?}/$suite"
    debootstrap --variant=minbase "$suite" "$trial_roots/$suite" ${trial_mirror:+"$trial_mirror"} >"$trial_roots/$suite.log" 2>&1 || {
      tail -n 5 "$trial_roots/$suite.log" >&2
      echo "try: apt-get install debootstrap; FATHOM_TRIAL_MIRROR=URL for another mirror" >&2
      return 1
    }
    touch "$trial_roots/$suite/.complete"
  done
}

mount_trial_root() { # PLACE FOLDER: an empty root for a place that is no Debian; /proc, /sys and /dev in all of them
  local suite layer=$2.layer each
  suite=$(trial_suite "$1")
  mkdir -p "$2" "$layer"
  if [ -n "$suite" ]; then
    mount -t tmpfs none "$layer" && mkdir "$layer/upper" "$layer/work" &&
      mount -t overlay -o "lowerdir=$trial_roots/$suite,upperdir=$layer/upper,workdir=$layer/work" none "$2" || return 1
  else
    mount -t tmpfs none "$2" || return 1
  fi
  mkdir -p "$2/proc" "$2/sys" "$2/dev"
  for each in proc sys dev; do mount --rbind "/$each" "$2/$each" || return 1; done
}
