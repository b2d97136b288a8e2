package screentest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// changing is what differs from run to run, and what stands for it.
var changing = []struct{ pattern, with string }{
	{`hf-[0-9a-f]{8}`, "hf-HOME"},
	{`holdfast (-r|attach) [0-9a-f-]{8}`, "holdfast $1 ID"},
	{`session [0-9a-f]{8}\b`, "session ID"},
	{`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]`, "⠋"},
	{`[0-9]+(\.[0-9]+)? (ms|s|min)\b( [0-9]+ s\b)?`, "TIME"},
	{`\$[0-9]+\.[0-9]+`, "COST"},
	{`[0-9.]+k? tokens`, "N tokens"},
	{`[0-9]+% context left`, "N% context left"},
	{`Holdfast \S+`, "Holdfast VERSION"},
}

// normal returns a screen without what differs from run to run.
func normal(screen string) string {
	for _, c := range changing {
		re := regexp.MustCompile(c.pattern)
		screen = re.ReplaceAllString(screen, c.with)
	}
	lines := strings.Split(screen, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// golden waits until the screen and the place of the cursor are those of a golden file.
func (w *terminal) golden(name string) {
	w.Helper()
	w.goldenOf(name, func() string {
		return w.screen() + "\n" + w.tmux("display-message", "-p", "-t", w.name, "cursor in line #{cursor_y}, column #{cursor_x}")
	})
}

// goldenColors is golden with the colors.
func (w *terminal) goldenColors(name string) {
	w.Helper()
	w.goldenOf(name, func() string {
		return strings.ReplaceAll(w.tmux("capture-pane", "-p", "-e", "-t", w.name), "\x1b", "␛")
	})
}

func (w *terminal) goldenOf(name string, capture func() string) {
	w.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		w.writeGolden(file, capture)
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	var got string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
		if got = normal(capture()); got == string(b) {
			return
		}
	}
	w.Errorf("%s is\n%s\nwant\n%s", name, got, b)
}

// writeGolden writes a screen that has not changed for a while.
func (w *terminal) writeGolden(file string, capture func() string) {
	w.Helper()
	last, since := "", time.Now()
	for time.Since(since) < time.Second {
		if s := normal(capture()); s != last {
			last, since = s, time.Now()
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !utf8.ValidString(last) {
		w.Errorf("%s is not UTF-8", file)
	}
	if err := os.WriteFile(file, []byte(last), 0o600); err != nil {
		w.Fatal(err)
	}
}
