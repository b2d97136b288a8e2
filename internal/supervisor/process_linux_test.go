package supervisor

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestStreams(t *testing.T) {
	h := newSupervisor(t)
	p := h.start("cat; echo gone >&2; exit 7")
	sent := make([]byte, 3<<20)
	_, _ = rand.Read(sent)
	go func() {
		_, _ = p.Stdin().Write(sent)
		_ = p.Stdin().Close()
	}()
	got, err := io.ReadAll(p.Stdout())
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came back, want %d (%v)", len(got), len(sent), err)
	}
	if e := exitOf(t, p); e.Code != 7 || e.Signal != "" || e.OOM || e.Stderr != "gone\n" {
		t.Errorf("%+v", e)
	}
	if _, err := p.Stdin().Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a write after the end: %v", err)
	}
}

func TestExits(t *testing.T) {
	h := newSupervisor(t)
	for _, tt := range []struct {
		script string
		want   Exit
	}{
		{"true", Exit{}},
		{"exit 2", Exit{Code: 2}},
		{"echo boom >&2; exit 255", Exit{Code: 255, Stderr: "boom\n"}},
		{"kill -TERM $$", Exit{Code: 143, Signal: "SIGTERM"}},
		{"kill -KILL $$", Exit{Code: 137, Signal: "SIGKILL"}}, // no memory was short
		{"exit 137", Exit{Code: 137}},
		{"exec 1>&- 2>&- 0<&-; exit 4", Exit{Code: 4}},
	} {
		if got := exitOf(t, h.start(tt.script)); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.script, got, tt.want)
		}
	}
}

func TestNotStarted(t *testing.T) {
	h := newSupervisor(t)
	file := filepath.Join(h.dir, "file")
	if err := os.WriteFile(file, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 200<<10) // a kernel accepts 128 KiB for one argument
	for _, tt := range []struct {
		name string
		spec Spec
		want string
	}{
		{"no such program", Spec{Args: []string{"no-such-program"}}, "no-such-program"},
		{"no such path", Spec{Args: []string{"/no/such"}}, "no such file"},
		{"no program", Spec{Args: []string{file}}, "permission denied"},
		{"a folder", Spec{Args: []string{h.dir}}, "permission denied"},
		{"no such folder", Spec{Args: []string{"true"}, Dir: "/no/such"}, "folder"},
		{"a file as folder", Spec{Args: []string{"true"}, Dir: file}, "not a directory"},
		{"too long", Spec{Args: []string{"echo", long}}, "argument list too long"},
	} {
		tt.spec.ID = name()
		if tt.spec.Dir == "" {
			tt.spec.Dir = h.dir
		}
		c := h.dial()
		_, err := c.Start(t.Context(), tt.spec)
		if !errors.Is(err, ErrNotStarted) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		p, err := c.Start(t.Context(), Spec{ID: tt.spec.ID, Args: []string{"true"}, Dir: h.dir})
		if err != nil {
			t.Fatalf("%s: the connection is of no use: %v", tt.name, err)
		}
		exitOf(t, p)
	}
}

func TestSpecs(t *testing.T) {
	h := newSupervisor(t)
	c := h.dial()
	good := Spec{ID: "a", Args: []string{"true"}, Dir: "/"}
	for name, change := range map[string]func(*Spec){
		"no id":           func(s *Spec) { s.ID = "" },
		"slash":           func(s *Spec) { s.ID = "a/b" },
		"newline":         func(s *Spec) { s.ID = "a\n" },
		"dot first":       func(s *Spec) { s.ID = ".." },
		"long":            func(s *Spec) { s.ID = strings.Repeat("a", 129) },
		"no program":      func(s *Spec) { s.Args = nil },
		"empty program":   func(s *Spec) { s.Args = []string{""} },
		"NUL":             func(s *Spec) { s.Args = []string{"a", "b\x00c"} },
		"not UTF-8":       func(s *Spec) { s.Args = []string{"a", "\xff"} },
		"very long":       func(s *Spec) { s.Env = []string{"A=" + strings.Repeat("\x01", maxOrder)} },
		"relative folder": func(s *Spec) { s.Dir = "work" },
		"NUL in folder":   func(s *Spec) { s.Dir = "/a\x00" },
		"grace":           func(s *Spec) { s.Grace = 2 * time.Hour },
		"variable":        func(s *Spec) { s.Env = []string{"LD_PRELOAD=/tmp/x"} },
	} {
		s := good
		change(&s)
		if _, err := c.Start(t.Context(), s); !errors.Is(err, ErrSpec) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "not UTF-8" {
			continue // JSON would change it on the way
		}
		// The supervisor does not rely on the host's checks.
		f, err := c.ask(t.Context(), &frame{Type: typeStart, Start: &order{
			ID: s.ID, Args: s.Args, Env: s.Env, Dir: s.Dir, GraceMS: s.Grace.Milliseconds(),
		}})
		if err != nil || f.Type != typeRefused || f.Code != codeSpec {
			t.Errorf("%s, inside: %+v, %v", name, f, err)
		}
	}
	p, err := c.Start(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(t.Context(), Spec{ID: "b", Args: []string{"true"}, Dir: "/"}); !errors.Is(err, ErrIDUsed) {
		t.Errorf("a second process: %v", err)
	}
	exitOf(t, p)
}

func TestEnvironment(t *testing.T) {
	h := newSupervisor(t, "SECRET_OF_THE_SUPERVISOR=1", "LD_PRELOAD=")
	p := h.start("env", func(s *Spec) { s.Env = []string{"TOKEN=1", "LANG=de_DE.UTF-8", "TOKEN=2", "EMPTY="} })
	got := map[string]string{}
	for l := range strings.Lines(output(t, p)) {
		k, v, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "=")
		got[k] = v
	}
	delete(got, "_") // some shells
	delete(got, "PWD")
	delete(got, "SHLVL")
	delete(got, "OLDPWD")
	want := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": h.dir, "USER": "agent", "LOGNAME": "agent", "LANG": "de_DE.UTF-8", "TERM": "dumb",
		"TOKEN": "2", "EMPTY": "",
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q, want %q", k, got[k], v)
		}
		delete(got, k)
	}
	if len(got) > 0 {
		t.Errorf("it knows more: %v", got)
	}
}

// A program receives its streams and no other descriptors of the supervisor.
func TestInherited(t *testing.T) {
	h := newSupervisor(t)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var mask uint64 // of the caller of the test: nohup, or a shell in the background
	_, signals, _ := strings.Cut(string(status), "SigIgn:")
	if _, err := fmt.Sscanf(signals, "%x", &mask); err != nil {
		t.Fatal(err)
	}
	mask &^= 1 << (syscall.SIGINT - 1) // the supervisor handles it
	ignored := fmt.Sprintf("SigIgn:\t%016x", mask)
	const script = `for f in /proc/self/fd/*; do test -e $f && echo ${f##*/}; done | tr '\n' ' '; grep -E 'Sig(Blk|Ign)|NoNewPrivs' /proc/self/status; ulimit -c; umask`
	for name, want := range map[string]string{"plain": "0 1 2 ", "channel": "0 1 2 3 ", "terminal": "0 1 2 "} {
		out := output(t, h.start(script, func(s *Spec) {
			s.Channel = name == "channel"
			if name == "terminal" {
				s.Terminal = &Size{Rows: 1, Cols: 1}
			}
		}))
		for _, w := range []string{want, "SigBlk:\t0000000000000000", ignored, "\n0"} {
			if !strings.Contains(strings.ReplaceAll(out, "\r", ""), w) {
				t.Errorf("%s: %q, want %q in it", name, out, w)
			}
		}
		if strings.Contains(out, "4 ") || name != "channel" && strings.Contains(out, "3 ") {
			t.Errorf("%s: more descriptors: %q", name, out)
		}
	}
	p := h.start("exec 3>&-; echo closed; exec cat", func(s *Spec) { s.Channel = true })
	line(t, p)
	if _, err := p.Channel().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a channel that was closed: %v", err)
	}
	_ = p.Stdin().Close()
	exitOf(t, p)
}

func TestDuplicateID(t *testing.T) {
	h := newSupervisor(t)
	p := h.start("echo here; cat", func(s *Spec) { s.ID = "turn-1" })
	line(t, p)
	c := h.dial()
	again := Spec{ID: "turn-1", Args: []string{"true"}, Dir: "/"}
	if _, err := c.Start(t.Context(), again); !errors.Is(err, ErrRunning) {
		t.Errorf("a second of that name: %v", err)
	}
	list, err := c.Processes(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "turn-1" || list[0].Program != "sh" || list[0].Pid != p.Pid() ||
		time.Since(list[0].Started) > patience {
		t.Errorf("%+v, %v", list, err)
	}
	_ = p.Stdin().Close()
	exitOf(t, p)
	q, err := c.Start(t.Context(), again)
	if err != nil {
		t.Fatalf("once the first has ended: %v", err)
	}
	exitOf(t, q)
	if list, err := c.Processes(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// Standard error is read whatever its content, and does not block the other streams.
func TestLargeStderr(t *testing.T) {
	h := newSupervisor(t)
	p := h.start(`head -c 20000000 /dev/zero | tr '\0' e >&2; echo first; printf 'ü%8191s' x >&2; echo second`)
	if a, b := line(t, p), line(t, p); a != "first" || b != "second" {
		t.Errorf("%q %q", a, b)
	}
	e := exitOf(t, p)
	if len(e.Stderr) != TailSize-1 && len(e.Stderr) != TailSize || !strings.HasSuffix(e.Stderr, "   x") || strings.Contains(e.Stderr, "\xbc") {
		t.Errorf("%d bytes, beginning with %q", len(e.Stderr), e.Stderr[:min(8, len(e.Stderr))])
	}
	var all bytes.Buffer
	p = h.start(`head -c 3000000 /dev/zero >&2; echo end >&2`, func(s *Spec) { s.Stderr = &all })
	exitOf(t, p)
	_ = p.Close()
	if all.Len() != 3000004 {
		t.Errorf("%d bytes were copied", all.Len())
	}
}

func TestLineOf100MB(t *testing.T) {
	h := newSupervisor(t)
	p := h.start(`head -c 100000000 /dev/zero | tr '\0' a`)
	sum := sha256.New()
	n, err := io.Copy(sum, p.Stdout())
	if err != nil || n != 100_000_000 {
		t.Errorf("%d bytes, %v", n, err)
	}
	want := sha256.New()
	for range 100 {
		_, _ = want.Write(bytes.Repeat([]byte("a"), 1_000_000))
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != hex.EncodeToString(want.Sum(nil)) {
		t.Error("other bytes")
	}
}

// A reader that does not read blocks only its own process.
func TestSlowReaders(t *testing.T) {
	h := newSupervisor(t)
	loud := h.start("exec cat /dev/zero", grace(50*time.Millisecond)) // which is not read
	deaf := h.start("exec sleep 1000")                                // does not read
	wrote := make(chan error, 1)
	go func() {
		_, err := deaf.Stdin().Write(make([]byte, 10<<20))
		wrote <- err
	}()
	wait(t, "the window is full", func() bool {
		loud.out.mu.Lock()
		defer loud.out.mu.Unlock()
		return len(loud.out.held) == window
	})
	if out := output(t, h.start("echo fine")); out != "fine\n" {
		t.Errorf("another says %q", out)
	}
	if _, err := loud.conn.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	for _, p := range []*Process{loud, deaf} {
		if err := p.Kill(t.Context()); err != nil {
			t.Error(err)
		}
		if alive(p.Pid()) {
			t.Error("it lives")
		}
	}
	if err := <-wrote; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the write ended with %v", err)
	}
	if e := exitOf(t, deaf); e.Signal != "SIGTERM" || e.OOM {
		t.Errorf("%+v", e)
	}
	// Output that was written before the end can still be read.
	if n, err := io.Copy(io.Discard, loud.Stdout()); err != nil || n < window {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestClosedStandardInput(t *testing.T) {
	h := newSupervisor(t)
	p := h.start("exec <&-; echo closed; exec sleep 1000")
	line(t, p)
	for end := time.Now().Add(patience); ; {
		if _, err := p.Stdin().Write(make([]byte, 1<<10)); err != nil {
			if !errors.Is(err, io.ErrClosedPipe) {
				t.Error(err)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("writes succeed for ever")
		}
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestChannel(t *testing.T) {
	h := newSupervisor(t)
	p := h.start("cat <&3 >&3; echo done", func(s *Spec) { s.Channel = true })
	want := make([]byte, 2<<20)
	_, _ = rand.Read(want)
	ch := p.Channel()
	go func() {
		_, _ = ch.Write(want)
		_ = p.channel.out.Close()
	}()
	got, err := io.ReadAll(ch)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back (%v)", len(got), err)
	}
	if out := output(t, p); out != "done\n" {
		t.Errorf("%q", out)
	}
	if p := h.start("true"); p.Channel() != nil {
		t.Error("a channel that was not requested")
	}
	// Closing it ends both directions.
	p = h.start("cat <&3 >/dev/null; while echo x >&3; do :; done; echo out", func(s *Spec) { s.Channel = true; s.Grace = -1 })
	_ = p.Channel().Close()
	if _, err := p.Channel().Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a read after Close: %v", err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTerminal(t *testing.T) {
	h := newSupervisor(t)
	p := h.start(`tty >/dev/null && stty size && read x && echo "got $x" && read y; stty size; echo $TERM`,
		func(s *Spec) { s.Terminal = &Size{Rows: 31, Cols: 99} })
	if got := strings.TrimSpace(line(t, p)); got != "31 99" {
		t.Errorf("%q", got)
	}
	_, _ = io.WriteString(p.Stdin(), "hello\n")
	line(t, p) // the echo
	if got := strings.TrimSpace(line(t, p)); got != "got hello" {
		t.Errorf("%q", got)
	}
	if err := p.Resize(t.Context(), Size{Rows: 12, Cols: 34}); err != nil {
		t.Error(err)
	}
	_ = p.Stdin().Close() // the end-of-file key
	if got := strings.ReplaceAll(output(t, p), "\r", ""); got != "12 34\nxterm-256color\n" {
		t.Errorf("%q", got)
	}
	if e := exitOf(t, p); e.Code != 0 {
		t.Errorf("%+v", e)
	}
}

func TestSignals(t *testing.T) {
	h := newSupervisor(t)
	p := h.start(`trap 'echo caught' INT; echo ready; sleep 1000 & while ! wait $!; do :; done`, grace(-1))
	line(t, p)
	if err := p.Signal(t.Context(), syscall.SIGINT); err != nil {
		t.Error(err)
	}
	if got := line(t, p); got != "caught" {
		t.Errorf("%q", got)
	}
	if err := p.Signal(t.Context(), syscall.SIGALRM); !errors.Is(err, ErrSpec) {
		t.Errorf("another signal: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Signal(ctx, syscall.SIGINT); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConcurrentProcesses(t *testing.T) {
	h := newSupervisor(t)
	var all sync.WaitGroup
	for range 24 {
		p := h.start("cat")
		all.Go(func() {
			want := strings.Repeat(strconv.Itoa(p.Pid())+"\n", 10000)
			go func() {
				_, _ = io.WriteString(p.Stdin(), want)
				_ = p.Stdin().Close()
			}()
			b, err := io.ReadAll(p.Stdout())
			if err != nil || string(b) != want {
				t.Errorf("%d bytes, %v", len(b), err)
			}
		})
	}
	all.Wait()
	wait(t, "all have ended", func() bool {
		list, err := h.dial().Processes(t.Context())
		return err == nil && len(list) == 0
	})
}
