package credentials

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

// isolate gives a test its own home and unsets all variables about keys.
func isolate(t *testing.T) (home string) {
	t.Helper()
	for _, line := range os.Environ() {
		name, _, _ := strings.Cut(line, "=")
		if strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "MINIO_") {
			t.Setenv(name, "") // so that it is restored
			os.Unsetenv(name)
		}
	}
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return home
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// refused returns the error of a chain, which must have a hint and contain says.
func refused(t *testing.T, c *Chain, says string) *Error {
	t.Helper()
	k, err := c.Get(t.Context())
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		t.Fatalf("got %+v, %v; want an error that says %q", k, err, says)
	case !strings.Contains(e.Error(), says):
		t.Errorf("%q does not say %q", e.Error(), says)
	}
	return e
}

func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, set string
		want      sigv4.Keys
		says      string
	}{
		{"AWS", "AWS_ACCESS_KEY_ID=i AWS_SECRET_ACCESS_KEY=s AWS_SESSION_TOKEN=t", sigv4.Keys{ID: "i", Secret: "s", Token: "t"}, ""},
		{"older names", "AWS_ACCESS_KEY=i AWS_SECRET_KEY=s", sigv4.Keys{ID: "i", Secret: "s"}, ""},
		{"MinIO", "MINIO_ROOT_USER=i MINIO_ROOT_PASSWORD=s", sigv4.Keys{ID: "i", Secret: "s"}, ""},
		{"MinIO's older names", "MINIO_ACCESS_KEY=i MINIO_SECRET_KEY=s MINIO_ROOT_USER=x", sigv4.Keys{ID: "i", Secret: "s"}, ""},
		{"AWS goes first", "AWS_ACCESS_KEY_ID=i AWS_SECRET_ACCESS_KEY=s MINIO_ROOT_USER=x MINIO_ROOT_PASSWORD=y", sigv4.Keys{ID: "i", Secret: "s"}, ""},
		{"no secret", "AWS_ACCESS_KEY_ID=i MINIO_ROOT_USER=x MINIO_ROOT_PASSWORD=y", sigv4.Keys{}, "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not"},
		{"no id", "AWS_SECRET_ACCESS_KEY=s", sigv4.Keys{}, "AWS_SECRET_ACCESS_KEY is set and AWS_ACCESS_KEY_ID is not"},
		{"no password", "MINIO_ROOT_USER=i", sigv4.Keys{}, "MINIO_ROOT_USER is set and MINIO_ROOT_PASSWORD is not"},
		{"nothing", "", sigv4.Keys{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			isolate(t)
			for _, pair := range strings.Fields(c.set) {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			if c.says != "" {
				refused(t, Default(), c.says)
				return
			}
			if got, err := Default().Get(t.Context()); got != c.want || err != nil {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// tickingSource is a source whose keys are good for an hour, on a clock that a test moves.
type tickingSource struct {
	mu    sync.Mutex
	now   time.Time
	n     int
	err   error
	empty bool
}

func (k *tickingSource) chain() *Chain {
	c := newChain(source{"the test", func(context.Context) (found, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.n++
		if k.empty {
			return found{}, errNone
		}
		return found{sigv4.Keys{ID: string(rune('a' + k.n - 1)), Secret: "s"}, k.now.Add(time.Hour)}, k.err
	}})
	c.now = func() time.Time { return k.now }
	return c
}

func TestRefresh(t *testing.T) {
	k := &tickingSource{now: time.Unix(1e9, 0)}
	c := k.chain()
	want := func(id string) {
		t.Helper()
		if got, err := c.Get(t.Context()); got.ID != id || err != nil {
			t.Errorf("at %v: %q, %v; want %q", k.now.Sub(time.Unix(1e9, 0)), got.ID, err, id)
		}
	}
	pass := func(d time.Duration) { k.now = k.now.Add(d) }
	want("a")
	pass(47 * time.Minute)
	want("a")
	pass(time.Minute) // four fifths
	want("b")
	pass(50 * time.Minute)
	k.err = errors.New("nobody answers")
	want("b") // still good; the third look failed
	want("b")
	pass(30 * time.Second)
	if want("b"); k.n != 3 {
		t.Errorf("%d looks", k.n)
	}
	pass(11 * time.Minute)
	if e := refused(t, c, "nobody answers"); e.Source != "the test" {
		t.Errorf("the source is %q", e.Source)
	}
	k.err = nil
	n := k.n
	want(string(rune('a' + n)))
	k.empty = true
	pass(2 * time.Hour)
	refused(t, c, "the source is no longer set up") // and not: no keys, so no signature
	k.empty = false
	if _, err := c.Get(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestExpired(t *testing.T) {
	k := &tickingSource{now: time.Unix(1e9, 0)}
	c := k.chain()
	first, _ := c.Get(t.Context())
	c.Expired(first)
	second, _ := c.Get(t.Context())
	c.Expired(first) // by somebody who is late
	third, _ := c.Get(t.Context())
	if first == second || second != third || k.n != 2 {
		t.Errorf("%v, %v, %v after %d looks", first, second, third, k.n)
	}
	static := Static(sigv4.Keys{ID: "i", Secret: "s"})
	static.Expired(sigv4.Keys{ID: "i", Secret: "s"})
	if got, err := static.Get(t.Context()); got.ID != "i" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestMissingKeysAreSearchedOncePerMinute(t *testing.T) {
	k := &tickingSource{now: time.Unix(1e9, 0), empty: true}
	c := k.chain()
	for range 3 {
		if got, err := c.Get(t.Context()); got.ID != "" || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
	if k.n != 1 {
		t.Errorf("%d looks", k.n)
	}
	k.now, k.empty = k.now.Add(time.Minute), false
	if got, _ := c.Get(t.Context()); got.ID == "" {
		t.Error("no keys")
	}
}

// One caller searches for keys; the others wait for it, no longer than their contexts allow.
func TestManyWait(t *testing.T) {
	began, release, n := make(chan struct{}), make(chan struct{}), 0
	c := newChain(source{"the test", func(context.Context) (found, error) {
		n++
		close(began)
		<-release
		return found{keys: sigv4.Keys{ID: "i", Secret: "s"}}, nil
	}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if k, err := c.Get(t.Context()); k.ID != "i" || err != nil {
				t.Errorf("%v, %v", k, err)
			}
		})
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	<-began
	if _, err := c.Get(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(release)
	wg.Wait()
	if n != 1 {
		t.Errorf("%d looks", n)
	}
}

// A source that is set up but fails is skipped if a later one has keys; otherwise its error is
// returned.
func TestFailingSource(t *testing.T) {
	broken := source{"one", func(context.Context) (found, error) { return found{}, errors.New("it is broken") }}
	none := source{"two", func(context.Context) (found, error) { return found{}, errNone }}
	good := source{"three", func(context.Context) (found, error) { return found{keys: sigv4.Keys{ID: "i", Secret: "s"}}, nil }}
	bare := source{"four", func(context.Context) (found, error) { return found{keys: sigv4.Keys{ID: "i"}}, nil }}
	if k, err := newChain(broken, none, good).Get(t.Context()); k.ID != "i" || err != nil {
		t.Errorf("%v, %v", k, err)
	}
	refused(t, newChain(none, broken, none), "no keys from one: it is broken")
	refused(t, newChain(bare), "no keys from four: the response has no keys")
}
