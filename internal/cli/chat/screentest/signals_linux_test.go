package screentest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// items is an answer of lines that can be counted, in small deltas.
func items() (play string, lines []string) {
	var b strings.Builder
	b.WriteString("name: play\nchunk: 6\ndelay: {chunk: 12ms}\nsteps:\n  - when: {any: true}\n    text: |\n")
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("the item with number %d.", i))
		fmt.Fprintf(&b, "      - %s\n", lines[i])
	}
	return b.String(), lines
}

// While an answer streams, the size changes: at the end every line is there once, and no old block.
func TestResize(t *testing.T) {
	play, lines := items()
	w := newDesk(t, play).open("one", 80, 24)
	w.holdfast("")
	w.says("go")
	for i, size := range [][2]int{{60, 20}, {120, 40}, {40, 10}, {100, 12}, {80, 24}} {
		w.prints(lines[i*8+4])
		w.tmux("resize-window", "-t", w.name, "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
		w.waits("a rule over the whole width", func(screen string) bool {
			return strings.Contains("\n"+screen, "\n"+strings.Repeat("─", size[0])+"\n")
		})
	}
	w.shows(lines[59], "1 model call")
	w.inOrder(w.all(), lines)
	if s := w.all(); strings.Count(s, "ask for something") != 1 || strings.Contains(s, "esc interrupts") {
		t.Errorf("an old block is left:\n%s", s)
	}
}

// The program can be suspended and cleared while an answer streams.
func TestSuspend(t *testing.T) {
	play, lines := items()
	w := newDesk(t, play).open("one", 80, 24)
	w.holdfast("")
	w.says("go")
	w.prints(lines[5])
	w.types("a draft")
	w.press("C-z")
	w.shows("Stopped")
	w.hides("a draft")
	w.shellIsBack()
	w.command("fg")
	w.shows("> a draft")
	w.prints(lines[20])
	w.press("C-l")
	w.hides(lines[10])
	w.shows("> a draft")
	w.shows(lines[59], "1 model call")
	w.inOrder(w.all(), lines)
	w.press("C-u")
	w.shows("ask for something")
	w.press("C-d")
	w.shellIsBack()
}

// After SIGTERM the terminal is as before; after SIGHUP it is gone. The run goes on in the daemon.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			d := newDesk(t, gated)
			open := d.gate()
			w := d.open("one", 80, 24)
			w.holdfast("--permission-mode bypassPermissions")
			w.says("work please")
			w.shows("it has begun")
			w.press("C-o") // the alternate screen
			w.shows("conversation")
			if sig == syscall.SIGHUP {
				pid := w.program()
				next := d.open("two", 80, 24)
				w.tmux("kill-session", "-t", w.name)
				d.until("the end of the program", func() bool { return syscall.Kill(pid, 0) != nil })
				w = next
			} else {
				if err := syscall.Kill(w.program(), sig); err != nil {
					t.Fatal(err)
				}
				w.shellIsBack()
			}
			w.command("holdfast attach")
			w.shows("work please", "cat gate")
			open()
			w.shows("It is done.")
			if !d.exists("made") {
				t.Error("the command did not end")
			}
		})
	}
}
