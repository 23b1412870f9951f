// Spends its time in functions that call each other, one of them inlined into another, on two goroutines.
//
//  main.main -> main.spin -> main.(*worker).step -> main.leaf -> main.mix (inlined)
package main

import (
	"os"
	"time"
)

var sink uint64

//go:noinline
func leaf(n uint64) uint64 {
	for i := uint64(0); i < 20000; i++ {
		n = mix(n)
	}
	return n
}

func mix(n uint64) uint64 { return (n<<13 | n>>51) * 0x9e3779b97f4a7c15 }

type worker struct{ seed uint64 }

//go:noinline
func (w *worker) step() { w.seed = leaf(w.seed) }

//go:noinline
func spin(w *worker, until time.Time) {
	for time.Now().Before(until) {
		w.step()
	}
}

func main() {
	until := time.Now().Add(1500 * time.Millisecond)
	other := &worker{seed: 7}
	done := make(chan bool)
	go func() { spin(other, until); done <- true }()
	mine := &worker{seed: uint64(len(os.Args))}
	spin(mine, until)
	<-done
	sink = mine.seed + other.seed
	os.Stdout.WriteString("{}\n")
}
