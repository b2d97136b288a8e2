package runmodel

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

var worlds atomic.Int64

// runs plays random runs on a place: few, or as many as HOLDFAST_RUNS says. The seed is
// printed, and -rapid.seed plays it again.
func runs(t *testing.T, at place, few int) {
	t.Helper()
	n := strconv.Itoa(few)
	if s := os.Getenv("HOLDFAST_RUNS"); s != "" {
		n = s
	}
	seed := flag.Lookup("rapid.seed").Value.String()
	if seed == "0" {
		seed = strconv.FormatUint(rand.Uint64(), 10)
	}
	for name, value := range map[string]string{"rapid.checks": n, "rapid.seed": seed, "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s runs, seed %s", n, seed)
	rapid.Check(t, func(t *rapid.T) {
		newWorld(t, at, letters(worlds.Add(1))).play(t)
	})
}

// letters writes a number in letters.
func letters(n int64) string {
	text := "x"
	for ; n > 0; n /= 26 {
		text += string(rune('a' + n%26))
	}
	return text
}
