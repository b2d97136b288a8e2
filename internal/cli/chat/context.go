package chat

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/chat/render"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// bytesPerToken is the estimate that compaction uses, too.
const bytesPerToken = 4

// serverTime is how long MCP servers have to list their tools for /context.
const serverTime = 10 * time.Second

// ContextParts returns what the next request of the session has, with estimated sizes.
func (s *Session) ContextParts(ctx context.Context) ([]render.Part, error) {
	if s.in != nil {
		return nil, outcome.Invalid("the agent runs in a container, which has its own tools and files", "holdfast sessions show lists the messages")
	}
	r, err := s.flags.ComposeOptions(s.p, s.at().cwd)
	if err != nil {
		return nil, err
	}
	list, err := compose.RequestParts(r)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, serverTime)
	defer stop()
	servers, err := compose.ServerParts(ctx, r)
	if err != nil {
		return nil, err
	}
	list = append(list, servers...)
	if s.ID() != "" {
		err = s.withStore(ctx, func(sessions *session.Sessions) error {
			loaded, err := sessions.Load(ctx, s.ID(), nil)
			if err == nil {
				list = append(list, compose.TranscriptParts(loaded.Items)...)
			}
			return err
		})
	}
	var parts []render.Part
	for _, p := range list {
		if p.Bytes > 0 {
			parts = append(parts, render.Part{Name: s.shortFile(p.Name), Tokens: (p.Bytes + bytesPerToken - 1) / bytesPerToken})
		}
	}
	return parts, err
}

// shortFile returns a path relative to the session's folder or to the home folder. Other texts do
// not change.
func (s *Session) shortFile(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(s.at().cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	if rest, ok := strings.CutPrefix(path, s.p.UserHome()+"/"); ok && s.p.UserHome() != "" {
		return "~/" + rest
	}
	return path
}

func (u *ui) showContext(string) {
	u.say("computing context usage …")
	s := u.s
	u.later(func(ctx context.Context) func() {
		parts, err := s.ContextParts(ctx)
		return func() {
			u.tip = ""
			if err != nil {
				u.fail("context", err)
				return
			}
			use, window := u.conv.State().Usage.Context, u.window()
			u.printLaidOut(func(width int) []string { return append([]string{""}, u.look.Context(parts, use, window, width)...) })
		}
	})
}

// window returns the size of the context window of the current model in tokens; 0 if it is not known.
func (u *ui) window() int {
	if n := u.conv.State().Usage.Window; n > 0 || u.s == nil {
		return n
	}
	return u.windowOf(u.s.About().Model)
}

// windowOf returns the size of the context window of a model.
func (u *ui) windowOf(model string) int {
	n, known := u.windows[model]
	if !known && u.s != nil {
		if u.windows == nil {
			u.windows = map[string]int{}
		}
		n = u.s.Window(model)
		u.windows[model] = n
	}
	return n
}
