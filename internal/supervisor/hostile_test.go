package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// started starts a process whose supervisor is played by the test: frames are sent right after the start, and
// what the host sends is read and discarded.
func started(t *testing.T, frames string, channel bool) (*Process, io.WriteCloser) {
	t.Helper()
	inside, open := insideOf(t, hello)
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		in := bufio.NewReader(inside)
		_, _ = in.ReadString('\n') // start
		_, _ = io.WriteString(inside, `{"t":"started","n":1,"pid":1}`+"\n"+frames)
		_, _ = io.Copy(io.Discard, in)
	}()
	p, err := c.Start(t.Context(), Spec{ID: "a", Args: []string{"a"}, Dir: "/", Channel: channel})
	if err != nil {
		t.Fatal(err)
	}
	return p, inside
}

// Closing a channel does not lose the process, even if data was in transit.
func TestChannelClosedWithDataInTransit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, inside := started(t, "", true)
		if err := p.Channel().Close(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(inside, `{"t":"data","s":3,"size":1}`+"\nx"+`{"t":"end","s":3}`+"\n"+`{"t":"exit","exit":{"code":3}}`+"\n")
		if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 3 {
			t.Errorf("%+v, %v", exit, err)
		}
		_ = p.Close()
		_ = inside.Close()
	})
}

// A supervisor that sends heartbeats and never reports the end of the process is given up.
func TestKillUnconfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, inside := started(t, "", true)
		stop := sendHeartbeats(inside)
		began := time.Now()
		if err := p.Kill(t.Context()); !errors.Is(err, ErrLost) || time.Since(began) != Grace+killTime {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if _, err := p.Stdout().Read(make([]byte, 1)); !errors.Is(err, ErrLost) {
			t.Errorf("its output: %v", err)
		}
		stop()
		_ = p.Close()
		_ = inside.Close()
	})
}

// A supervisor that sends heartbeats and never confirms a start is given up, too.
func TestStartUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside, open := insideOf(t, hello)
		c, err := open()
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, inside) }()
		stop := sendHeartbeats(inside)
		began := time.Now()
		if _, err := c.Start(t.Context(), Spec{ID: "a", Args: []string{"a"}, Dir: "/"}); !errors.Is(err, ErrLost) || time.Since(began) != startTime {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		stop()
		_ = c.Close()
		_ = inside.Close()
	})
}

// sendHeartbeats sends heartbeats as a supervisor.
func sendHeartbeats(inside io.Writer) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-time.After(heartbeat):
				_, _ = io.WriteString(inside, `{"t":"ping"}`+"\n")
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// A message of the supervisor costs the host at most a few times its length, and its length is limited.
func TestHostileAnswers(t *testing.T) {
	for name, line := range map[string]string{
		"many processes": `{"t":"listed","n":1,"processes":[` + strings.TrimSuffix(strings.Repeat("{},", 4<<20), ",") + "]}\n",
		"a long text":    `{"t":"refused","n":1,"error":"` + strings.Repeat("x", 8<<20) + `"}` + "\n",
	} {
		inside, open := insideOf(t, hello)
		c, err := open()
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		go func() {
			in := bufio.NewReader(inside)
			_, _ = in.ReadString('\n')
			go func() { _, _ = io.Copy(io.Discard, in) }()
			_, _ = io.WriteString(inside, line)
		}()
		if _, err := c.Processes(t.Context()); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
			t.Errorf("%s: %d MB", name, used>>20)
		}
		_ = c.Close()
		_ = inside.Close()
	}
}

// Texts that the supervisor chooses are shown to users: they are short.
func TestSupervisorTexts(t *testing.T) {
	long := strings.Repeat("é", 10_000)
	_, open := insideOf(t, fmt.Sprintf(`{"t":"hello","health":{"protocol":1,"version":%q,"unconfined":%q}}`+"\n", long, long))
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Health(); len(h.Version) > 2*maxText || len(h.Unconfined) > 2*maxText {
		t.Errorf("%d, %d bytes", len(h.Version), len(h.Unconfined))
	}
	_ = c.Close()
	if err := startError("a", &frame{Code: codeStart, Error: long}); !errors.Is(err, ErrNotStarted) || len(err.Error()) > 2*maxText {
		t.Errorf("%d bytes", len(err.Error()))
	}
}
