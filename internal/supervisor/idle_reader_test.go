package supervisor

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowly is a connection on which a byte takes a second.
func slowly(to io.WriteCloser, from io.Reader) {
	defer to.Close()
	for b := make([]byte, 1); ; time.Sleep(time.Second) {
		if _, err := from.Read(b); err != nil {
			return
		}
		if _, err := to.Write(b); err != nil {
			return
		}
	}
}

func isDead(l *link) bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

// A frame may take long to arrive, its line as well as its data, in both directions: every byte is a sign of
// life.
func TestSlowConnection(t *testing.T) {
	text := strings.Repeat("x", 200)
	for name, most := range map[string]int{"host": maxAnswer, "inside": maxHeader} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, ways := net.Pipe()
				b, wayTo := net.Pipe()
				go slowly(wayTo, ways)                      // sent by near
				go func() { _, _ = io.Copy(ways, wayTo) }() // and by far
				near, far := newLink(a, maxAnswer+maxHeader-most), newLink(b, most)
				var came []string
				near.run(func(*frame) error { return nil })
				far.run(func(f *frame) error {
					if f.Type != typePing {
						came = append(came, f.Type+f.Error+string(f.data))
					}
					return nil
				})
				for _, f := range []frame{{Type: typeRefused, Error: text}, {Type: typeData, S: 1, data: []byte(text)}} {
					if err := near.send(&f, f.data); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Hour)
				if isDead(near) || isDead(far) {
					t.Errorf("%v; %v", near.err, far.err)
				}
				near.close()
				far.close()
				if len(came) != 2 || came[0] != "refused"+text || came[1] != "data"+text {
					t.Errorf("%q came", came)
				}
			})
		})
	}
}

// A side that takes long to handle a frame, such as starting a program on a slow machine, reads nothing
// meanwhile: that does not count as silence of the other side.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		host, inside := newLink(a, maxAnswer), newLink(b, maxHeader)
		var did atomic.Bool
		host.run(func(*frame) error { return nil })
		inside.run(func(f *frame) error {
			if f.Type == typeStart {
				time.Sleep(startTime)
				did.Store(true)
			}
			return nil
		})
		if err := host.send(&frame{Type: typeStart}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if !did.Load() || isDead(host) || isDead(inside) {
			t.Errorf("%v; %v", host.err, inside.err)
		}
		host.close()
		inside.close()
	})
}

// Encoding a frame does not block other senders.
func TestEncodeOutsideLock(t *testing.T) {
	l := newLink(nil, maxAnswer)
	l.sending <- struct{}{} // another sender does
	if err := l.send(&frame{Type: typeRefused, Error: strings.Repeat("x", maxHeader)}, nil); !errors.Is(err, errFrame) {
		t.Error(err)
	}
}

// A process that did not run for a while has received nothing, and may still have data to read.
func TestPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		e := idleReader{r: r}
		if q := e.idle(0); q != 0 {
			t.Errorf("%v before it listens", q)
		}
		go func() { _, _ = e.Read(make([]byte, 8)) }()
		time.Sleep(50 * time.Second)
		for _, tt := range []struct{ late, want time.Duration }{
			{0, 50 * time.Second},
			{time.Millisecond, 50 * time.Second},
			{30 * time.Second, 20 * time.Second},
			{0, 20 * time.Second},
			{time.Hour, 0},
		} {
			if q := e.idle(tt.late); q != tt.want {
				t.Errorf("%v late: %v, want %v", tt.late, q, tt.want)
			}
		}
		time.Sleep(time.Second)
		_, _ = w.Write([]byte("x"))
		synctest.Wait()
		if q := e.idle(0); q != 0 {
			t.Errorf("%v when it has heard something", q)
		}
	})
}

// A process in the supervisor's place cannot keep the host waiting with an endless hello.
func TestEndlessHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, inside := net.Pipe()
		go slowly(inside, io.MultiReader(strings.NewReader(hello[:len(hello)-1]), endlessSpaces{}))
		go func() { _, _ = io.Copy(io.Discard, inside) }()
		began := time.Now()
		_, err := NewConn(t.Context(), host)
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "no hello") || time.Since(began) != startTime {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(time.Minute) // the sender notices
	})
}

// endlessSpaces is an endless stream of spaces.
type endlessSpaces struct{}

func (endlessSpaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
