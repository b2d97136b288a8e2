package crashtest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(inOwnFolder(m))
}

// inOwnFolder runs the tests with their own folder for temporary files, because killed
// processes leave some.
func inOwnFolder(m *testing.M) int {
	dir, err := os.MkdirTemp("", "crashtest-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		panic(err)
	}
	return m.Run()
}

// takesLong skips, with -short, a test that takes long even with few trials.
func takesLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make test-all")
	}
}

// trials returns the number of trials to run: that of the environment, else a tenth of a full
// run, else a few.
func trials(t *testing.T, full int) int {
	t.Helper()
	if s := os.Getenv("HOLDFAST_CRASH_TRIALS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("HOLDFAST_CRASH_TRIALS: %v", err)
		}
		return max(1, n*full/2000)
	}
	if testing.Short() {
		return max(4, full/100)
	}
	return full / 10
}

// random returns the random numbers of a test; HOLDFAST_CRASH_SEED repeats them.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("HOLDFAST_CRASH_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("HOLDFAST_CRASH_SEED: %v", err)
		}
	}
	t.Logf("HOLDFAST_CRASH_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
