#!/usr/bin/perl
# Joins two files of folded stacks into one with two columns, base and new: a replacement for difffolded.pl,
# which no package of Debian has. Written for bench_diff_speed as the first half of its peer; flamegraph.pl,
# from libdevel-nytprof-perl, draws the result. two_columns.pl BASE NEW
use strict;
use warnings;

my %counts;
my $side = 0;
for my $path (@ARGV) {
    open(my $file, '<', $path) or die "$path: $!\n";
    while (my $line = <$file>) {
        chomp $line;
        my $at = rindex($line, ' ');
        next if $at < 0;
        $counts{substr($line, 0, $at)}[$side] += substr($line, $at + 1);
    }
    ++$side;
}
print "$_ ", $counts{$_}[0] // 0, ' ', $counts{$_}[1] // 0, "\n" for keys %counts;
