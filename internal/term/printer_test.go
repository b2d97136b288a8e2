package term

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// onScreen returns the two printers of one screen.
func onScreen(tty bool) (out, errs *Printer, screen *bytes.Buffer) {
	screen = &bytes.Buffer{}
	style := Style{TTY: tty, Width: 60}
	out, errs = NewPrinter(screen, style), NewPrinter(screen, style)
	errs.Share(out)
	return out, errs, screen
}

// The progress line appears after a while, counts, and is gone before anything
// else is printed.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, errs, buf := onScreen(true)
		drawn := func() string { // since the last call
			errs.screen.mu.Lock()
			defer errs.screen.mu.Unlock()
			defer buf.Reset()
			return buf.String()
		}
		errs.Progress().Show("thinking")
		time.Sleep(progressDelay - time.Millisecond) // of the bubble's clock
		synctest.Wait()
		if got := drawn(); got != "" {
			t.Errorf("it came too early: %q", got)
		}
		time.Sleep(2*time.Second + 50*time.Millisecond)
		synctest.Wait()
		if got := drawn(); !strings.Contains(got, "thinking 2 s · ctrl-c interrupts") || strings.Contains(got, "\n") {
			t.Errorf("drawn: %q", got)
		}
		out.Line("answer")
		if got := drawn(); got != "\r\x1b[Kanswer\n" {
			t.Errorf("printed over it: %q", got)
		}
		out.Text("half a line")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := drawn(); got != "half a line" {
			t.Errorf("drawn into a line: %q", got)
		}
		out.EndLine()
		errs.Interrupting()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := drawn(); !strings.Contains(got, "interrupted, ctrl-c again ends it at once") {
			t.Errorf("after an interrupt: %q", got)
		}
		errs.Reset()
		if got := drawn(); got != "\r\x1b[Kholdfast: ended at once\n" {
			t.Errorf("after another one: %q", got)
		}
		errs.Reset()
		if got := drawn(); got != "\nholdfast: ended at once\n" {
			t.Errorf("without a progress line: %q", got)
		}
		errs.Stop()
		errs.Stop()
	})
}

// Where a line cannot be erased there is no progress line.
func TestNoProgress(t *testing.T) {
	for _, style := range []Style{{}, {TTY: true, Dumb: true}} {
		p := NewPrinter(&bytes.Buffer{}, style)
		if p.Progress() != nil {
			t.Errorf("%+v has a progress line", style)
		}
		p.Progress().Show("x")
		p.Stop()
	}
}

func TestColor(t *testing.T) {
	for _, tt := range []struct {
		env  string
		want bool
	}{
		{"", false},
		{"FORCE_COLOR=1", true},
		{"FORCE_COLOR=0", false},
		{"CLICOLOR_FORCE=1", true},
		{"FORCE_COLOR=1 NO_COLOR=1", false},
		{"TERM=dumb FORCE_COLOR=1", true},
	} {
		env := func(name string) (value string) {
			for _, pair := range strings.Fields(tt.env) {
				if v, ok := strings.CutPrefix(pair, name+"="); ok {
					value = v
				}
			}
			return value
		}
		if got := StyleOf(&bytes.Buffer{}, env).Color; got != tt.want {
			t.Errorf("%q: color %v", tt.env, got)
		}
	}
	if got := (Style{Color: true}).Red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("red: %q", got)
	}
	if got := (Style{}).Red("x"); got != "x" {
		t.Errorf("plain: %q", got)
	}
}

// A table fits the terminal by cutting one column; a pipe gets it whole.
func TestTable(t *testing.T) {
	rows := func() [][]string {
		return [][]string{{"ID", "TITLE", "N"}, {"a", strings.Repeat("long ", 11), "1"}, {"b\x1b", "short", "22"}}
	}
	printer, _, out := onScreen(true)
	printer.Width = 30
	printer.Table(rows(), 1)
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 30 {
			t.Errorf("%d wide: %q", n, line)
		}
	}
	printer, _, out = onScreen(false)
	printer.Table(rows(), 1)
	if got := out.String(); !strings.Contains(got, strings.TrimSpace(strings.Repeat("long ", 11))) || !strings.Contains(got, `b\x1b  short`) {
		t.Errorf("in a pipe:\n%s", got)
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text         string
		first, other int
		want         string
	}{
		{"", 10, 10, ""},
		{"one two three", 40, 10, "one two three"},
		{"one two three", 8, 5, "one two|three"},
		{"one two three", 2, 9, "|one two|three"},
		{"unbreakable", 20, 5, "unbreakable"},
		{"a unbreakable b", 3, 5, "a|unbreakable|b"},
		{"one\ntwo three", 9, 9, "one|two three"},
		{"日本語 です", 6, 6, "日本語|です"},
	} {
		if got := strings.Join(wrap(tt.text, tt.first, tt.other), "|"); got != tt.want {
			t.Errorf("%q in %d and %d: %q, want %q", tt.text, tt.first, tt.other, got, tt.want)
		}
	}
}
