//go:build linux

package escape

import (
	"fmt"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// allowedActions are actions that must work in the sandbox: those of the attempts, on the command's own resources.
var allowedActions = []attempt{
	{id: "Y01", what: "write, change, move and remove files of the workspace", script: `cd "$WS" && echo x >f && echo y >>f && chmod 600 f && touch -d 2001-01-01 f && mv f g && ln g h && ln -s g i && truncate -s 0 g && mkfifo p && rm -r f? g h i p 2>/dev/null; [ ! -e g ]`},
	{id: "Y02", what: "set attributes and flags of own files", try: func(p *outside) error {
		if err := os.WriteFile(p.WS+"/f", nil, 0o600); err != nil {
			return err
		}
		return unix.Setxattr(p.WS+"/f", "user.own", []byte("x"), 0)
	}},
	{id: "Y03", what: "make a file without a name, and give it one", try: func(p *outside) error { return nameless(p.WS, p.WS+"/new") }},
	{id: "Y04", what: "commit", script: `cd "$WS" && git -c safe.directory='*' add main.go && git -c safe.directory='*' -c user.name=x -c user.email=x@x commit -qm x && git -c safe.directory='*' checkout -qb other`},
	{id: "Y05", what: "make a repository", script: `cd "$WS" && git init -q fresh && cd fresh && echo x >x && git add x && git -c user.name=x -c user.email=x@x commit -qm x`},
	{id: "Y06", what: "start processes, signal and await them", script: `sleep 60 & p=$!; kill -9 $p; wait $p; [ $? = 137 ] && (exit 3); [ $? = 3 ] && seq 100 | sort -n | tail -1 | grep -q 100`},
	{id: "Y07", what: "use /tmp, /var/tmp and /dev/shm", script: `for d in /tmp /var/tmp /dev/shm; do echo x >$d/own && cat $d/own || exit 1; done`},
	{id: "Y08", what: "make a pair of sockets and talk", try: func(*outside) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		_, err = unix.Write(pair[0], []byte("x"))
		return err
	}},
	{id: "Y09", what: "read programs and what they need", script: `cat /etc/passwd >/dev/null && ls /usr/bin >/dev/null && getconf _NPROCESSORS_ONLN && cat /proc/self/status >/dev/null && head -c 4 /dev/urandom >/dev/null && : >/dev/null && cat "$OUT/file"`},
	{id: "Y10", what: "listen and connect on the own localhost", settings: local, try: func(*outside) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		return say("tcp", l.Addr().String(), "hi")
	}},
	{id: "Y11", what: "listen and connect on an own unix socket", settings: ownSockets, try: func(p *outside) error {
		l, err := net.Listen("unix", p.WS+"/own")
		if err != nil {
			return err
		}
		return say("unix", l.Addr().String(), "hi")
	}},
	{id: "Y12", what: "have a terminal of one's own", script: `command -v script >/dev/null || exit 0; script -qec 'tty' /dev/null </dev/null | grep -q pts`},
	{id: "Y13", what: "make namespaces where that is allowed", settings: nested, script: `unshare -Ur --propagation unchanged -m true`},
	{id: "Y14", what: "use shared memory and queues of one's own", try: func(*outside) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		b, err := unix.SysvShmAttach(id, 0, 0)
		if err != nil {
			return err
		}
		b[0] = 1
		return nil
	}},
	{id: "Y15", what: "have many threads and much memory", try: func(*outside) error {
		done := make(chan int)
		for i := range 64 {
			go func() { b := make([]byte, 1<<20); b[i] = 1; done <- len(b) }()
		}
		for range 64 {
			<-done
		}
		return nil
	}},
	{id: "Y16", what: "read and write the standard streams", stdin: true, script: `grep -q outside`},
	{id: "Y17", what: "read what is in the files that are protected", script: `cat "$WS/.git/config" "$WS/.git/hooks/sample" "$REALHOME/.bashrc" >/dev/null`},
	{id: "Y18", what: "run a program that was just made", script: `printf '#!/bin/sh\necho made\n' >"$WS/s" && chmod +x "$WS/s" && "$WS/s" | grep -q made`},
}

// Allowed actions work, as root and as an ordinary user.
func TestInside(t *testing.T) {
	for i := range allowedActions {
		a := &allowedActions[i]
		t.Run(a.id, func(t *testing.T) {
			for _, c := range callers() {
				t.Run(c.name, func(t *testing.T) { a.works(t, c) })
			}
		})
	}
}

func (a *attempt) works(t *testing.T, c caller) {
	f := newFixture(t, c, a)
	o := f.run(t, a, false)
	if o.absent {
		t.Skip(o.open)
	}
	if o.open != "" || o.code != 0 || len(o.harm) > 0 {
		t.Error(fmt.Errorf("%s: %s, %q", a.what, o, o.harm))
	}
}
