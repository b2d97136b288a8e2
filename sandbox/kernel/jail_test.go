//go:build linux && (amd64 || arm64)

package kernel

import (
	"io"
	"os"
	"testing"
)

// run runs a shell script and returns what it printed.
func run(t testing.TB, p *Policy, dir, script string) (string, *State, error) {
	t.Helper()
	j, err := Prepare(p)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	return runIn(t, j, dir, script)
}

func runIn(t testing.TB, j *Jail, dir, script string) (string, *State, error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	proc, err := j.Start(&Attr{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir, Files: []*os.File{nil, w, w}})
	w.Close()
	if err != nil {
		return "", nil, err
	}
	out, _ := io.ReadAll(r)
	s, err := proc.Wait()
	return string(out), s, err
}

func TestFirst(t *testing.T) {
	dir := t.TempDir()
	out, s, err := run(t, &Policy{Read: []string{"/"}, Write: []string{dir}}, dir, "id; pwd; echo $$; ls -la /proc | head -3; touch /etc/x; touch y; ls /tmp; cat /proc/self/status | grep -E 'Cap|Secc|NoNew'; ls -l /proc/self/fd; kill -9 $$")
	t.Log(out, s, err)
}
