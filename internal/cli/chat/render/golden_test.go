package render

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

var renderers = map[string]*Renderer{
	"nocolor": {Cwd: "/w"},
	"ascii":   {Cwd: "/w", ASCII: true},
	"reader":  {Cwd: "/w", Plain: true, Style: markdown.TrueColor, Hyperlinks: true},
	"16":      {Cwd: "/w", Style: markdown.ANSI16, Hyperlinks: true},
	"dark":    {Cwd: "/w", Style: markdown.TrueColor},
	"light":   {Cwd: "/w", Style: markdown.TrueColor, Light: true},
}

// golden compares what each renderer draws with testdata/NAME.RENDERER.WIDTH.txt.
func golden(t *testing.T, name string, widths []int, draw func(r *Renderer, width int) []string) {
	for look, r := range renderers {
		for _, w := range widths {
			if w != 80 && (look == "ascii" || look == "reader" || look == "light") {
				continue
			}
			lines := draw(r, w)
			for _, l := range lines {
				if n := paint.Width(l); n > w {
					t.Errorf("%s, %s: %d columns of %d: %q", name, look, n, w, l)
				}
				if look == "ascii" && strings.ContainsAny(l, "●✗└…·│▌") || r.Style == markdown.Plain && strings.ContainsRune(l, '\x1b') {
					t.Errorf("%s, %s: %q", name, look, l)
				}
			}
			got := strings.Join(lines, "\n") + "\n"
			file := filepath.Join("testdata", fmt.Sprintf("%s.%s.%d.txt", name, look, w))
			docgen.Golden(t, file, got)
		}
	}
}

func TestBlocks(t *testing.T) {
	golden(t, "blocks", []int{60, 80, 120}, func(r *Renderer, w int) (lines []string) {
		var last *conversation.Block
		for _, b := range page() {
			if r.Gap(last, b) {
				lines = append(lines, "")
			}
			lines, last = append(lines, r.Block(b, w)...), b
		}
		return lines
	})
}

func TestFull(t *testing.T) {
	golden(t, "full", []int{80}, func(r *Renderer, w int) (lines []string) {
		for _, b := range page() {
			lines = append(append(lines, r.Full(b, w)...), "")
		}
		return lines
	})
}

func TestLive(t *testing.T) {
	all := states()
	golden(t, "live", []int{60, 80, 120}, func(r *Renderer, w int) (lines []string) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			for _, height := range []int{30, 12, 5, 2} {
				if height < 30 && name != "all" {
					continue
				}
				lines = append(lines, fmt.Sprintf("-- %s, height %d", name, height))
				lines = append(lines, r.Live(all[name], w, height, start.Add(75*time.Second))...)
			}
		}
		return lines
	})
}

func TestAround(t *testing.T) {
	golden(t, "around", []int{60, 80, 120}, func(r *Renderer, w int) []string {
		lines := r.Banner(&Start{Version: "1.4.0", Model: "anthropic/claude-opus-4-5", Cwd: "~/src/calc", Mode: "default", Sandbox: "sandbox: writes in this folder, no network",
			Hints: []string{"type / for commands, @ for files, ! for a shell command", "ctrl-o shows everything, esc interrupts, ctrl-d leaves"}}, w)
		lines = append(lines, "", r.Rule(w), r.Prompt()+"text")
		for _, s := range []Status{
			{Model: "anthropic/claude-opus-4-5", Mode: "default", Context: 76_000, Window: 200_000, CostUSD: 0.42, DayUSD: 3.1, Sandbox: "sandbox", Branch: "fix/the-sign-of-add", Queue: 2, Daemon: true},
			{Model: "opus", Mode: "bypassPermissions", Context: 190_000, Window: 200_000, CostUSD: 4.9, BudgetUSD: 5, Sandbox: "none", Questions: 3, Daemon: true},
			{Model: "opus", Mode: "plan"},
			{Model: "local/model", Mode: "auto", Context: 1200, Questions: 1, Daemon: true},
		} {
			lines = append(lines, r.Status(s, w))
		}
		lines = append(lines, "")
		return append(lines, r.Context([]Part{{Name: "system prompt", Tokens: 3200}, {Name: "tools", Tokens: 14_100}, {Name: "MCP tools", Tokens: 9000}, {Name: "memory files", Tokens: 900}, {Name: "messages", Tokens: 61_000}}, 90_000, 200_000, w)...)
	})
}
