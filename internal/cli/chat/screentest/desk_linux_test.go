// Package screentest tests the conversation with the program, a daemon and a terminal: a shell in
// tmux runs holdfast, and the model is scripted.
//
//	desk ─┬─ a home, a project, a script for the model, a tmux server of its own
//	      └─ open ─► terminal ─┬─ types, press
//	                           └─ shows, golden
//
// Another process cannot signal what its screen shows, so the tests poll the screen.
package screentest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

var update = flag.Bool("update", false, "write the golden files")

// patience is how long a test waits for a screen.
const patience = 30 * time.Second

// desk is a user's home and project.
type desk struct {
	*testing.T
	dir, home, project string
	env                []string
}

// newDesk returns a desk with a script for the model. All paths have the same length, because they
// are in golden files.
func newDesk(t *testing.T, play string) *desk {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		testneed.Need(t, "no tmux on the PATH: apt-get install tmux makes this run")
	}
	t.Parallel()
	program := testprogram.Path(t)
	dir := ""
	for dir == "" {
		name := fmt.Sprintf("/tmp/hf-%08x", uint32(time.Now().UnixNano()))
		if os.Mkdir(name, 0o700) == nil {
			dir = name
		}
	}
	d := &desk{T: t, dir: dir, home: filepath.Join(dir, ".holdfast"), project: filepath.Join(dir, "project")}
	bin := filepath.Join(dir, "bin")
	t.Cleanup(func() {
		d.stopDaemon(syscall.SIGKILL)
		_ = exec.Command("tmux", "-S", d.socket(), "kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	for _, f := range []string{bin, d.project} {
		if err := os.Mkdir(f, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(program, filepath.Join(bin, "holdfast")); err != nil {
		t.Fatal(err)
	}
	d.write("../play.yaml", play)
	d.write("../tmux.conf", "set -g status off\nset -g default-terminal tmux-256color\nset -g history-limit 5000\nset -s escape-time 0\n")
	d.env = []string{
		"HOME=" + dir, "HOLDFAST_HOME=" + d.home, "HOLDFAST_MODEL=scripted/" + dir + "/play.yaml", "PATH=" + bin + ":" + os.Getenv("PATH"),
		"USER=ann", "LANG=C.UTF-8", "TZ=UTC", "ENV=", "PS1=$ ", "SHELL=/bin/sh",
	}
	return d
}

func (d *desk) socket() string { return filepath.Join(d.dir, "tmux") }

// write writes a file of the project.
func (d *desk) write(name, text string) {
	d.Helper()
	file := filepath.Join(d.project, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		d.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
}

// exists reports whether a file of the project exists.
func (d *desk) exists(name string) bool {
	_, err := os.Stat(filepath.Join(d.project, name))
	return err == nil
}

// read returns a file of the project, or "".
func (d *desk) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(d.project, name))
	return string(b)
}

// gate makes a pipe in the project. A command that reads it ends when the returned function is called.
func (d *desk) gate() (open func()) {
	d.Helper()
	name := filepath.Join(d.project, "gate")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		d.Fatal(err)
	}
	return func() {
		d.Helper()
		d.until("a reader of the gate", func() bool {
			f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err == nil {
				_, err = f.WriteString("opened\n")
				_ = f.Close()
			}
			return err == nil
		})
	}
}

// daemon returns the process of the daemon, or 0.
func (d *desk) daemon() int {
	info, running, err := listen.State(d.home)
	if err != nil || !running {
		return 0
	}
	return info.PID
}

// stopDaemon ends the daemon, if one runs, and waits for its end.
func (d *desk) stopDaemon(sig syscall.Signal) {
	pid := d.daemon()
	if pid == 0 {
		return
	}
	if err := syscall.Kill(pid, sig); err != nil {
		d.Error(err)
	}
	d.until("the end of the daemon", func() bool { return d.daemon() != pid })
}

// client connects to the daemon.
func (d *desk) client() *client.Client {
	d.Helper()
	var c *client.Client
	d.until("the daemon", func() bool {
		made, err := client.Dial(d.Context(), &client.Options{Home: d.home, Name: "test"})
		c = made
		return err == nil
	})
	d.Cleanup(c.Close)
	return c
}

// until waits for something.
func (d *desk) until(what string, is func() bool) {
	d.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(15 * time.Millisecond) {
		if time.Now().After(end) {
			d.Fatalf("waited too long for %s", what)
		}
	}
}

func (d *desk) tmux(args ...string) string {
	d.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(d.Context()), "tmux", append([]string{"-S", d.socket(), "-f", filepath.Join(d.dir, "tmux.conf")}, args...)...)
	cmd.Env = d.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

// terminal is a terminal with a shell, which runs holdfast.
type terminal struct {
	*desk
	name  string
	shell int // the process
}

// open opens a terminal in the project.
func (d *desk) open(name string, width, height int) *terminal {
	d.Helper()
	d.tmux("new-session", "-d", "-s", name, "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-c", d.project, "exec sh -i")
	w := &terminal{desk: d, name: name}
	w.shell, _ = strconv.Atoi(d.tmux("list-panes", "-t", name, "-F", "#{pane_pid}"))
	w.shows("$")
	return w
}

// command runs a line in the shell.
func (w *terminal) command(line string) {
	w.Helper()
	w.types(line)
	w.press("Enter")
}

// holdfast starts a conversation and waits until it can be used.
func (w *terminal) holdfast(args string) {
	w.Helper()
	w.command(strings.TrimSpace("clear; holdfast " + args))
	w.shows("ask for something")
}

// press presses keys by their names, such as C-z.
func (w *terminal) press(keys ...string) {
	w.Helper()
	w.tmux(append([]string{"send-keys", "-t", w.name}, keys...)...)
}

// types types a text.
func (w *terminal) types(text string) {
	w.Helper()
	w.tmux("send-keys", "-t", w.name, "-l", text)
}

// says types a message and sends it.
func (w *terminal) says(text string) {
	w.Helper()
	w.types(text)
	w.shows(text)
	w.press("Enter")
}

// answer answers the question that is shown. A question takes no answer in its first half second.
func (w *terminal) answer(key string) {
	w.Helper()
	time.Sleep(700 * time.Millisecond)
	w.types(key)
}

// screen returns what the terminal shows.
func (w *terminal) screen() string {
	w.Helper()
	return w.tmux("capture-pane", "-p", "-t", w.name)
}

// all returns the scrollback and the screen.
func (w *terminal) all() string {
	w.Helper()
	return w.tmux("capture-pane", "-p", "-S", "-", "-t", w.name)
}

// shows waits until the screen has all texts.
func (w *terminal) shows(texts ...string) {
	w.Helper()
	for _, text := range texts {
		w.waits(fmt.Sprintf("%q", text), func(screen string) bool { return strings.Contains(screen, text) })
	}
}

// hides waits until the screen does not have a text.
func (w *terminal) hides(text string) {
	w.Helper()
	w.waits(fmt.Sprintf("no %q", text), func(screen string) bool { return !strings.Contains(screen, text) })
}

// prints waits until the scrollback or the screen has a text.
func (w *terminal) prints(text string) {
	w.Helper()
	w.polls(fmt.Sprintf("%q", text), w.all, func(all string) bool { return strings.Contains(all, text) })
}

func (w *terminal) waits(what string, is func(screen string) bool) {
	w.Helper()
	w.polls(what, w.screen, is)
}

func (w *terminal) polls(what string, capture func() string, is func(screen string) bool) {
	w.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(15 * time.Millisecond) {
		screen := capture()
		if is(screen) {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("%s: want %s on the screen:\n%s", w.name, what, screen)
		}
	}
}

// program returns the process of holdfast in the terminal, or 0.
func (w *terminal) program() int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", w.shell, w.shell))
	first, _, _ := strings.Cut(string(b), " ")
	pid, _ := strconv.Atoi(first)
	return pid
}

// shellIsBack waits for the shell's prompt and checks that the terminal is as before.
func (w *terminal) shellIsBack() {
	w.Helper()
	w.waits("the shell's prompt at the end", func(screen string) bool { return strings.HasSuffix(screen, "\n$") || screen == "$" })
	if got := w.tmux("display-message", "-p", "-t", w.name, "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag} #{wrap_flag}"); got != "0 1 0 0 1" {
		w.Errorf("alternate screen, cursor, mouse, cursor keys, wrap: %s", got)
	}
	w.command("stty -a | tr ' ' '\\n' | grep -x -e '-*icanon' -e '-*echo' -e '-*isig' -e '-*opost' -e '-*icrnl' | xargs")
	w.shows("isig icanon")
	if s := w.screen(); !strings.Contains(s, "icrnl opost isig icanon echo") {
		w.Errorf("the modes of the terminal:\n%s", s)
	}
}
