//go:build unix

package chat

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// While the terminal is lent, the conversation does not read: a key that the user types for /login must not become a
// message. The editor stands for a program that reads.
func TestPlainLends(t *testing.T) {
	home, dir, script := withSettings(t, `{}`)
	editor := filepath.Join(t.TempDir(), "editor")
	write(t, editor, "#!/bin/sh\necho ready\nread key\necho got $key\n")
	if err := os.Chmod(editor, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "AGENTS.md"), "Use tabs.\n")
	keys, typed := pipe(t)
	screen, out := pipe(t)
	x := talkIn(t, home, dir, script, func(s *Start) { s.Screen.Plain = true })
	x.settles()
	x.u.p.Stdin, x.u.p.Stdout, x.u.p.Env = keys, out, append(x.u.p.Env, "EDITOR="+editor)
	p := &typist{t: t, x: x, more: make(chan struct{}, 1)}
	lines, next := readLines(keys)
	l := &plain{u: x.u, out: p, columns: func() int { return 80 }, echo: true, next: next}
	ended := make(chan error, 1)
	go func() { ended <- l.loop(t.Context(), lines, nil) }()
	_, _ = fmt.Fprintln(typed, "/memory")
	p.waits("AGENTS.md")
	_, _ = fmt.Fprintln(typed, "1")
	if err := screen.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(screen)
	for _, step := range []struct{ shown, typed string }{{"ready\n", "secret"}, {"got secret\n", "/quit"}} {
		if got, err := r.ReadString('\n'); got != step.shown {
			t.Fatalf("%q %v, want %q", got, err, step.shown)
		}
		_, _ = fmt.Fprintln(typed, step.typed)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.Contains(p.text(), "secret") {
		t.Errorf("the conversation read the key:\n%s", p.text())
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}
