//go:build unix

package live_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/holdfast-dev/holdfast/internal/term/input"
	"github.com/holdfast-dev/holdfast/internal/term/live"
)

const runProgram = "HOLDFAST_TEST_LIVE"

func TestMain(m *testing.M) {
	if os.Getenv(runProgram) != "" {
		if err := program(); err != nil {
			fmt.Println(err)
		}
		return
	}
	os.Exit(m.Run())
}

// program is a small conversation: typed text is drawn between two rules, Enter prints it.
func program() error {
	r, err := input.Open(os.Stdin, os.Stdout)
	if err != nil {
		return err
	}
	defer r.Close()
	s := live.New(os.Stdout, &live.Options{Env: os.Environ()})
	defer s.Close()
	width, height, typed, whole := 80, 24, "", false
	for e := range r.Events() {
		switch e := e.(type) {
		case uv.WindowSizeEvent:
			width, height = e.Width, e.Height
			s.Resize(e.Width, e.Height)
		case uv.PasteEvent:
			typed += e.Content
		case uv.KeyPressEvent:
			switch e.Keystroke() {
			case "ctrl+c":
				return nil
			case "ctrl+z":
				_ = s.Close()
				_ = r.Suspend()
				continue
			case "ctrl+l":
				s.Clear()
			case "ctrl+o":
				whole = !whole
				if err := s.Alternate(whole); err != nil {
					return err
				}
			case "enter":
				s.Print("you typed " + typed)
				typed = ""
			default:
				typed += e.Text
			}
		}
		if whole {
			if err := s.Draw(wholePage(height), nil); err != nil {
				return err
			}
			continue
		}
		rule := strings.Repeat("─", width)
		if err := s.Draw([]string{rule, "> " + typed, rule, "status"}, &live.Position{X: 2 + len(typed), Y: 1}); err != nil {
			return err
		}
	}
	return nil
}

func wholePage(height int) (rows []string) {
	for i := range height {
		rows = append(rows, fmt.Sprintf("page row %d of %d", i, height))
	}
	return rows
}

// tmux runs the program in a shell in tmux.
type tmux struct {
	*testing.T
	socket string
}

func startTmux(t *testing.T, width, height int) tmux {
	if _, err := exec.LookPath("tmux"); err != nil || testing.Short() {
		t.Skip("needs tmux")
	}
	m := tmux{t, "t23-live-" + strings.Map(func(r rune) rune {
		if strings.ContainsRune("/[] ", r) {
			return '-'
		}
		return r
	}, t.Name())}
	m.do("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "env PS1='$ ' ENV= sh -i")
	t.Cleanup(func() { _ = exec.Command("tmux", "-L", m.socket, "kill-server").Run() })
	m.shows("$")
	m.do("send-keys", "clear; "+runProgram+"=1 "+os.Args[0], "Enter")
	m.shows("status")
	return m
}

func (m tmux) do(args ...string) string {
	m.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

// shows waits until the scrollback and the screen end with rows.
func (m tmux) shows(rows ...string) {
	m.Helper()
	want := strings.Join(rows, "\n")
	var got string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if got = m.do("capture-pane", "-p", "-S", "-"); got == want || strings.HasSuffix(got, "\n"+want) {
			return
		}
	}
	m.Fatalf("tmux shows:\n%s\nwant at the end:\n%s", got, want)
}

// has counts a row in the scrollback and the screen.
func (m tmux) has(row string, n int) {
	m.Helper()
	all := m.do("capture-pane", "-p", "-S", "-")
	if got := strings.Count("\n"+all+"\n", "\n"+row+"\n"); got != n {
		m.Errorf("%q is there %d times, want %d:\n%s", row, got, n, all)
	}
}

func (m tmux) block(width int, typed string) []string {
	rule := strings.Repeat("─", width)
	return []string{rule, strings.TrimRight("> "+typed, " "), rule, "status"}
}

func TestTmuxResize(t *testing.T) {
	m := startTmux(t, 80, 24)
	for i := range 30 { // fills the screen
		m.do("send-keys", fmt.Sprint("line", i), "Enter")
	}
	m.shows(append([]string{"you typed line28", "you typed line29"}, m.block(80, "")...)...)
	for _, size := range [][2]int{{60, 20}, {120, 40}, {80, 24}, {100, 10}} {
		m.do("resize-window", "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
		m.shows(append([]string{"you typed line28", "you typed line29"}, m.block(size[0], "")...)...)
		m.has("status", 1)
		for i := range 30 {
			m.has(fmt.Sprint("you typed line", i), 1)
		}
	}
}

func TestTmuxSuspend(t *testing.T) {
	m := startTmux(t, 60, 20)
	m.do("send-keys", "one", "Enter", "draft")
	m.shows(append([]string{"you typed one"}, m.block(60, "draft")...)...)
	m.do("send-keys", "C-z")
	m.shows("$")
	m.has("status", 0)
	m.do("send-keys", "echo a; fg", "Enter")
	m.shows(m.block(60, "draft")...)
	m.do("send-keys", "!", "Enter")
	m.shows(append([]string{"you typed draft!"}, m.block(60, "")...)...)
	m.do("send-keys", "C-l")
	m.shows(m.block(60, "")...)
	m.has("you typed draft!", 1)
	m.has("status", 1)
	m.do("send-keys", "C-c")
	m.shows("$")
	m.has("status", 0)
	m.do("send-keys", "stty -a", "Enter")
	for !strings.Contains(m.do("capture-pane", "-p"), "isig icanon") {
	}
}

func TestTmuxAlternate(t *testing.T) {
	for _, sizes := range [][][2]int{{{80, 24}}, {{60, 20}}, {{120, 40}, {60, 20}, {80, 10}}} {
		t.Run(fmt.Sprint(sizes), func(t *testing.T) {
			m := startTmux(t, 80, 24)
			for i := range 30 { // fills the screen
				m.do("send-keys", fmt.Sprint("line", i), "Enter")
			}
			m.do("send-keys", "draft")
			m.shows(append([]string{"you typed line29"}, m.block(80, "draft")...)...)
			m.do("send-keys", "C-o")
			m.shows(wholePage(24)...)
			last := sizes[len(sizes)-1]
			for _, size := range sizes {
				m.do("resize-window", "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
				m.shows(wholePage(size[1])...)
			}
			m.do("send-keys", "!", "Enter") // prints later
			m.do("send-keys", "C-o")
			m.shows(append([]string{"you typed line28", "you typed line29", "you typed draft!"}, m.block(last[0], "")...)...)
			m.has("status", 1)
			for i := range 30 {
				m.has(fmt.Sprint("you typed line", i), 1)
			}
			if all := m.do("capture-pane", "-p", "-S", "-"); strings.Contains(all, "page row") {
				t.Errorf("the page is in the scrollback:\n%s", all)
			}
			m.do("send-keys", "C-o")
			m.shows(wholePage(last[1])...)
			m.do("send-keys", "C-c") // Close leaves the alternate screen
			m.shows("you typed draft!", "$")
		})
	}
}
