package screentest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	{`[0-9]+%( context)? left`, "N%$1 left"},
	{`[0-9]+ hidden`, "N hidden"}, // depends on which files exist when the daemon compiles the sandbox
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
	w.goldenOf(name, func() string { return styled(w.tmux("capture-pane", "-p", "-e", "-t", w.name)) })
}

// styled writes the style before each text that has another style than the one before it, as in
// ⟨2 36⟩. The style of spaces does not matter.
func styled(screen string) string {
	var b strings.Builder
	style, written := map[string]bool{}, ""
	for screen != "" {
		if end := strings.IndexByte(screen, 'm'); end > 0 && strings.HasPrefix(screen, "\x1b[") {
			for code := range strings.SplitSeq(screen[2:end], ";") {
				if style[code] = true; code == "0" || code == "" {
					clear(style)
				}
				if len(code) == 2 && (code[0] == '3' || code[0] == '4') { // a color replaces another one
					maps.DeleteFunc(style, func(old string, _ bool) bool {
						return len(old) == 2 && old[0] == code[0] && (old != code || code[1] == '9')
					})
				}
			}
			screen = screen[end+1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(screen)
		now := strings.Join(slices.Sorted(maps.Keys(style)), " ")
		if r != ' ' && r != '\n' && now != written {
			written = now
			b.WriteString("⟨" + now + "⟩")
		}
		b.WriteString(screen[:n])
		screen = screen[n:]
	}
	return b.String()
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
