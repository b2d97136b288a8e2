//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
)

// The size of the terminal.
const columns, rows = 100, 30

// pty is a terminal with a program in it. It answers the questions that programs ask a terminal.
type pty struct {
	master, slave *os.File
	pid           int
	began         time.Time
	unasked       int // up to where questions have been answered

	mu     sync.Mutex
	seen   []byte
	chunks []chunk
	more   chan struct{} // has a value after seen has grown
}

// chunk is output that was read at once: it ends at an offset of seen.
type chunk struct {
	at  time.Time
	end int
}

func startPTY(cmd *exec.Cmd) (*pty, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, errors.Join(err, master.Close())
	}
	size := &unix.Winsize{Col: columns, Row: rows, Xpixel: columns * 8, Ypixel: rows * 16}
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, size); err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	t := &pty{master: master, slave: slave, more: make(chan struct{}, 1), began: time.Now()}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, master.Close(), slave.Close())
	}
	t.pid = cmd.Process.Pid
	go t.read()
	return t, nil
}

// read collects the output until the terminal is closed.
func (t *pty) read() {
	b := make([]byte, 64<<10)
	for {
		n, err := t.master.Read(b)
		if err != nil {
			return
		}
		now := time.Now()
		t.mu.Lock()
		t.seen = append(t.seen, b[:n]...)
		t.chunks = append(t.chunks, chunk{now, len(t.seen)})
		t.answer()
		t.mu.Unlock()
		select {
		case t.more <- struct{}{}:
		default:
		}
	}
}

// questions matches what programs ask: device attributes, the position of the cursor, modes,
// the size, colors and the keyboard protocol.
var questions = lazyregexp.Must(`\x1b\[(0?c|>0?c|>0?q|6n|5n|18t|14t|\?u|\?(\d+)\$p)|\x1b\](1[01]|4;\d+);\?(?:\x07|\x1b\\)`)

func (t *pty) answer() {
	for {
		m := questions().FindSubmatchIndex(t.seen[t.unasked:])
		if m == nil {
			return
		}
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return string(t.seen[t.unasked+m[2*i] : t.unasked+m[2*i+1]])
		}
		reply := ""
		switch q := part(1); {
		case part(3) != "":
			color := "0000/0000/0000"
			if part(3) == "10" {
				color = "ffff/ffff/ffff"
			}
			reply = "\x1b]" + part(3) + ";rgb:" + color + "\x1b\\"
		case part(2) != "":
			state := map[string]string{"2026": "2", "2004": "2", "1004": "2"}[part(2)]
			if state == "" {
				state = "0"
			}
			reply = "\x1b[?" + part(2) + ";" + state + "$y"
		case q == "6n":
			reply = "\x1b[1;1R"
		case q == "5n":
			reply = "\x1b[0n"
		case q == "18t":
			reply = fmt.Sprintf("\x1b[8;%d;%dt", rows, columns)
		case q == "14t":
			reply = fmt.Sprintf("\x1b[4;%d;%dt", rows*16, columns*8)
		case q == "?u":
			reply = "\x1b[?0u"
		case q[0] == '>' && q[len(q)-1] == 'c':
			reply = "\x1b[>1;10;0c"
		case q[0] == '>':
			reply = "\x1bP>|bench 1\x1b\\"
		default:
			reply = "\x1b[?62;22c"
		}
		t.unasked += m[1]
		_, _ = t.master.WriteString(reply) // fails if the program has ended
	}
}

// wait waits until ok accepts the output and returns the time of the chunk that made it true.
func (t *pty) wait(limit time.Duration, ok func(seen []byte) bool) (time.Time, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		t.mu.Lock()
		done, at := ok(t.seen), time.Time{}
		if n := len(t.chunks); n > 0 {
			at = t.chunks[n-1].at
		}
		t.mu.Unlock()
		if done {
			return at, nil
		}
		select {
		case <-t.more:
		case <-timer.C:
			return at, fmt.Errorf("nothing of it within %s; the last output: %.300q", limit, t.last(300))
		}
	}
}

// size returns the number of bytes that the program has written.
func (t *pty) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.seen)
}

func (t *pty) last(n int) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := visible(t.seen)
	return text[max(0, len(text)-n):]
}

func (t *pty) write(text string) { _, _ = t.master.WriteString(text) } // an ended program is noticed by the next wait

// raw reports whether the kernel no longer echoes what is typed.
func (t *pty) raw() bool {
	s, err := unix.IoctlGetTermios(int(t.slave.Fd()), unix.TCGETS)
	return err == nil && s.Lflag&unix.ECHO == 0
}

// sequences are control sequences and blanks.
var sequences = lazyregexp.Must(`\x1b[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b\[[0-9:;?<>=!$ ]*[@-~]?|\x1b[()][A-Z0-9]|\x1b.|[\x00-\x1a\x1c-\x20\x7f]+`)

// visible returns the characters that can be seen.
func visible(out []byte) []byte { return sequences().ReplaceAll(out, nil) }

// letters are typed to find out when a character is shown. No program shows them by itself.
var letters = []string{"ж", "ф", "щ", "ю", "э", "ъ"}

// key types a character, and returns the time until the program has written it.
func (t *pty) key(i int) (time.Duration, error) {
	letter, from, began := []byte(letters[i%len(letters)]), t.size(), time.Now()
	t.write(string(letter))
	at, err := t.wait(3*time.Second, func(seen []byte) bool { return bytes.Contains(seen[from:], letter) })
	t.write("\x7f")
	return at.Sub(began), err
}

// usable types until a character is shown, and removes what it has typed.
func (t *pty) usable(limit time.Duration) (time.Time, error) {
	for began := time.Now(); !t.raw(); time.Sleep(200 * time.Microsecond) {
		if time.Since(began) > limit {
			return time.Time{}, errors.New("the terminal still echoes")
		}
	}
	from := t.size()
	n := 0
	for until := time.Now().Add(limit); time.Now().Before(until); n++ {
		t.write(letters[n%len(letters)])
		at, err := t.wait(50*time.Millisecond, func(seen []byte) bool {
			for _, l := range letters {
				if bytes.Contains(seen[from:], []byte(l)) {
					return true
				}
			}
			return false
		})
		if err == nil {
			time.Sleep(300 * time.Millisecond)
			for range n + 1 {
				t.write("\x7f")
				time.Sleep(10 * time.Millisecond)
			}
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("no character is shown; the screen ends with %.300q", t.last(300))
}

// say types a message and sends it. Programs take text that is followed at once by Enter for a paste.
func (t *pty) say(text string, pause time.Duration) {
	t.write(text)
	time.Sleep(pause)
	t.write("\r")
}

func (t *pty) close() { _, _ = t.master.Close(), t.slave.Close() }
