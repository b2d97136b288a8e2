package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The status line has the branch, what is left of the context window, the cost of the run and of the
// day, and it says that there is no sandbox.
func TestStatusParts(t *testing.T) {
	home, dir, script := withSettings(t, `{"prices": {"scripted/*": {"input": 1000, "output": 1000}}}`)
	write(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/topic\n")
	if err := os.MkdirAll(filepath.Join(dir, ".git", "objects"), 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	x := talkIn(t, home, dir, script, nil)
	x.u.now = func() time.Time { return now }
	x.says("hi")
	x.until("1 model call")
	x.until("topic")
	x.until("no sandbox")
	cost := x.u.conv.State().Usage.CostUSD
	if cost <= 0 {
		t.Fatal("the run cost nothing")
	}
	now = now.Add(2 * dayTime)
	for x.u.around.costAt != now {
		x.screen()
		x.step()
	}
	if got := x.u.dayUSD(); got != cost {
		t.Errorf("day %v, run %v", got, cost)
	}
	x.until(" today")
	x.u.conv.State().Usage.CostUSD += 1
	if got := x.u.dayUSD(); got != cost+1 {
		t.Errorf("day %v after another call", got)
	}
}

func TestContext(t *testing.T) {
	home, dir, script := withSettings(t, `{}`)
	write(t, filepath.Join(dir, "AGENTS.md"), strings.Repeat("Use tabs. ", 100))
	x := talkIn(t, home, dir, script, nil)
	x.says("hi")
	x.until("1 model call")
	x.says("/context")
	s := x.until("window size not known")
	for _, want := range []string{"system prompt", "tools", "AGENTS.md", "messages", "~"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is missing in\n%s", want, s)
		}
	}
	x.says("/memory")
	s = x.until("instruction files;")
	if !strings.Contains(s, "AGENTS.md") || !strings.Contains(s, "Use tabs.") {
		t.Errorf("%s", s)
	}
	x.press("enter")
	if x.u.borrow == nil {
		t.Error("the editor is not opened")
	}
}

// /theme and the settings of the terminal: the choice is saved, and read at the next start.
func TestTheme(t *testing.T) {
	home, dir, script := withSettings(t, `{"terminal": {"bell": false, "notifications": false}}`)
	x := talkIn(t, home, dir, script, nil)
	if n := x.u.notify; !n.silent || !n.quiet {
		t.Errorf("%+v", n)
	}
	x.until("default · ")
	x.says("/theme light")
	x.until("theme light: saved in")
	if !x.u.look.Light {
		t.Error("not light")
	}
	x.says("/theme pink")
	x.until("usage: /theme auto, light, dark, plain")
	y := talkIn(t, home, dir, script, nil)
	if !y.u.look.Light || y.u.terminal.Theme.Value != settings.Themes[1] {
		t.Errorf("%+v", y.u.terminal)
	}
	y.u.background(false)
	if !y.u.look.Light {
		t.Error("the terminal overrides the user's choice")
	}
}

// With the theme auto, the colors follow the background of the terminal, when it is known. On the whole
// screen, what was printed before changes, too.
func TestBackground(t *testing.T) {
	for env, want := range map[string]string{"": "", "15;0": "dark", "0;15": "light", "0;default;7": "light", "12;8": "dark", "15;default": "", "1;99": ""} {
		if got := shadeOf(env); got != want {
			t.Errorf("COLORFGBG=%s: %q, want %q", env, got, want)
		}
	}
	home, dir, script := withSettings(t, `{}`)
	if err := os.WriteFile(script, []byte("steps: [{text: \"`code`\"}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := talkIn(t, home, dir, script, func(s *Start) { s.Screen.Fullscreen = true })
	x.settles()
	x.u.p.Out.Color = true
	x.u.p.Env = append(x.u.p.Env, "TERM=xterm-256color")
	x.u.applyTheme("auto")
	if x.u.look.Style != markdown.ANSI16 || !x.u.asksBackground() {
		t.Errorf("before the answer: style %d", x.u.look.Style)
	}
	x.says("hi")
	x.until("1 model call")
	shown := func() string { return strings.Join(x.u.frame().lines, "\n") }
	seen := map[string]bool{shown(): true}
	for _, light := range []bool{true, false} {
		x.u.background(light)
		s := shown()
		if x.u.look.Style != markdown.ANSI256 || x.u.look.Light != light || seen[s] {
			t.Errorf("light %v: style %d, light %v, the same screen %v", light, x.u.look.Style, x.u.look.Light, seen[s])
		}
		seen[s] = true
	}
	x.u.applyTheme("plain")
	if x.u.background(true); x.u.look.Style != markdown.Plain || x.u.asksBackground() {
		t.Errorf("plain: style %d", x.u.look.Style)
	}
}

// What the user has seen at the last start is only counted. A change is shown.
func TestNotices(t *testing.T) {
	home, dir, script := withSettings(t, `{}`)
	rule := func(text string) {
		write(t, filepath.Join(dir, ".holdfast", "settings.json"), `{"permissions": {"allow": ["Bash(`+text+`)"]}}`)
	}
	rule("ls")
	const full, short = "not trusted", "1 notice about settings and files, as at the last start"
	for i, want := range []string{full, short, full} {
		if i == 2 {
			rule(`make:*)", "Bash(x:*`)
		}
		x := talkIn(t, home, dir, script, nil)
		x.until("default · ")
		s := x.until(want)
		if want == short && strings.Contains(s, full) {
			t.Errorf("it is repeated:\n%s", s)
		}
		if want == short {
			x.says("/notices")
			x.until(full)
		}
	}
}

// Without a model the conversation opens, says how to get one, and keeps the message.
func TestNoModel(t *testing.T) {
	home, dir, _ := withSettings(t, `{}`)
	x := talkIn(t, home, dir, "", nil)
	s := x.until("no model is configured yet")
	if !strings.Contains(s, "/login") || !strings.Contains(s, "holdfast init") {
		t.Errorf("%s", s)
	}
	x.says("hi")
	s = x.until("not sent: no model is configured yet")
	if !strings.Contains(s, "> hi") {
		t.Errorf("the message is lost:\n%s", s)
	}
	x.press("ctrl-u")
	x.says("/login")
	x.until("provider whose key you want to store")
	x.until("anthropic")
}

func TestNoKey(t *testing.T) {
	home, dir, _ := withSettings(t, `{"model": "anthropic/claude-sonnet-4-6"}`)
	x := talkIn(t, home, dir, "", nil)
	x.until("there is no key for anthropic")
	x.until("/login anthropic stores one")
	if x.u.window() < 100_000 {
		t.Errorf("window %d", x.u.window())
	}
}

// The history has no secrets, and knows the session of a message that was sent before it was open.
func TestHistory(t *testing.T) {
	home, dir, script := withSettings(t, `{}`)
	x := talkIn(t, home, dir, script, nil)
	const key = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345" // in two parts, because no source of this project may contain a key
	x.says("early " + key)
	x.until("1 model call")
	x.says("again " + key)
	x.until("And again.")
	file := filepath.Join(home, ".holdfast", "history.jsonl")
	var text string
	for strings.Count(text, "\n") < 2 {
		x.step()
		b, _ := os.ReadFile(file)
		text = string(b)
	}
	if strings.Contains(text, key) || strings.Count(text, "[secret:") != 2 || strings.Count(text, x.u.s.ID()) != 2 {
		t.Errorf("%s", text)
	}
}
