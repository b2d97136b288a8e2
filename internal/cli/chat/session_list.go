package chat

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Message is a message of the user in the session.
type Message struct {
	Item   string
	Before string // the item before it; "" if it is the first
	Text   string
	Images []transcript.Media
}

// shown returns the text for a list.
func (m Message) shown() string { return inputimage.WithLabels(m.Text, m.Images) }

// Messages returns the user's messages, oldest first.
func (s *Session) Messages(ctx context.Context) (list []Message, err error) {
	var loaded *session.Loaded
	err = s.withStore(ctx, func(sessions *session.Sessions) error {
		loaded, err = sessions.Load(ctx, s.ID(), nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	before := ""
	for _, e := range loaded.Items {
		if m := userMessage(e); m.shown() != "" {
			m.Item, m.Before = e.ID(), before
			list = append(list, m)
		}
		before = e.ID()
	}
	return list, nil
}

// withStore reads the store of the sessions.
func (s *Session) withStore(ctx context.Context, read func(*session.Sessions) error) error {
	sessions, closeStore, err := s.p.OpenStore(ctx, s.flags.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	return read(sessions)
}

// rewindTo returns the request of a rewind to before a message. What is transcript, files or "" for
// both.
func rewindTo(m Message, what string) api.Rewind {
	return api.Rewind{Target: cmp.Or(m.Before, "turn:0"), Transcript: what == "transcript", Files: what == "files"}
}

// userMessage returns what the user wrote in an item, or an empty message.
func userMessage(e transcript.Encoded) (m Message) {
	if e.Role() != transcript.RoleUser {
		return m
	}
	var list []string
	older, input, newer := conversation.SplitInput(strings.TrimSpace(e.Text()))
	for _, part := range []string{older, input, newer} {
		if part, _ = record.CutCommands(part); part != "" {
			list = append(list, part)
		}
	}
	text := strings.Join(list, "\n\n")
	if strings.HasPrefix(text, "<") {
		return m
	}
	m.Text = text
	if it, err := e.Decode(); err == nil {
		for _, p := range it.Parts {
			if i, ok := p.(transcript.Media); ok {
				m.Images = append(m.Images, i)
			}
		}
	}
	return m
}

// Sessions returns the newest sessions of all folders for a list, or those that have a text in their
// id, title, first prompt or folder.
func (s *Session) Sessions(ctx context.Context, text string) ([]pick.Item, error) {
	page, err := s.List(ctx, client.ListOptions{Text: text, Limit: 500})
	if err != nil {
		return nil, err
	}
	items := make([]pick.Item, 0, len(page.Items))
	for _, m := range page.Items {
		state := ""
		switch {
		case m.OpenApprovals > 0:
			state = "needs you · "
		case m.Status != "" && !m.Status.Ended():
			state = "working · "
		}
		items = append(items, pick.Item{
			Text: term.OneLine(cmp.Or(m.Title, m.Summary, m.FirstPrompt, m.ID)), Value: m.ID,
			Detail: state + age(m.UpdatedAt) + " · " + term.Count(m.MessageCount, "message") + " · " + shortPath(m.CWD),
		})
	}
	return items, nil
}

// foundHits is how many places a search returns.
const foundHits = 100

// Search returns the sessions that have the text in their title, first prompt or folder, and then the
// places with all of its words in the transcripts of all sessions, newest first.
func (s *Session) Search(ctx context.Context, words string) ([]pick.Item, error) {
	sessions, closeStore, err := s.p.OpenStore(ctx, s.flags.Store)
	if err != nil {
		return nil, err
	}
	defer closeStore()
	ref, err := stores.Parse(s.p.Environment(), s.flags.Store)
	if err != nil {
		return nil, err
	}
	found, err := stores.Search(ctx, s.p.Environment(), ref, sessions.Store(), session.Search{Words: words, Limit: foundHits}, false)
	if err != nil {
		return nil, err
	}
	items, err := s.Sessions(ctx, words)
	if err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(it pick.Item) bool { // the place says more
		return slices.ContainsFunc(found.Hits, func(h session.Hit) bool { return h.Session == it.Value })
	})
	for _, h := range found.Hits {
		items = append(items, pick.Item{
			Text: term.OneLine(h.Excerpt), Value: h.Session, Detail: age(h.Time) + " · " + term.OneLine(cmp.Or(h.Title, shortPath(h.CWD))),
		})
	}
	return items, nil
}

func age(t time.Time) string {
	d := time.Since(t)
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return t.Local().Format(time.DateOnly)
}

func shortPath(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[i+1:]
	}
	return p
}
