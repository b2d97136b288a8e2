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
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/settings"
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
}

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
		if text := userText(e); text != "" {
			list = append(list, Message{Item: e.ID(), Before: before, Text: text})
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

// userText returns what the user wrote in an item, or "".
func userText(e transcript.Encoded) string {
	if e.Role() != transcript.RoleUser {
		return ""
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
		return ""
	}
	return text
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

// Expandable is a skill or command of the project that the user can call.
type Expandable struct{ Name, Help string }

// Commands returns the skills and commands that the user can call, as they were when the session was
// opened. Those that are not trusted are not among them.
func (s *Session) Commands() []Expandable { return s.at().commands }

func expandables(e *env.Env, rules *settings.Settings) (list []Expandable) {
	f, err := tools.FindSkills(e, rules)
	if err != nil {
		return nil
	}
	for _, sk := range f.Set.Skills {
		if sk.UserInvocable {
			list = append(list, Expandable{sk.Name, sk.Description})
		}
	}
	return list
}

// Blocks returns what there is of another session, such as that of a sub-agent.
func (s *Session) Blocks(ctx context.Context, id string) (list []*conversation.Block, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := conversation.New(&conversation.Options{Cwd: s.at().cwd})
	for e, err := range s.Client().Events(ctx, id, 0) {
		if err != nil {
			return list, err
		}
		for _, u := range c.Apply(e) {
			if u.Block != nil {
				list = append(list, u.Block)
			}
		}
		if e.CaughtUp {
			return list, nil
		}
	}
	return list, nil
}

// Models returns the models that the user can choose from: those of the provider of the current one.
func (s *Session) Models(ctx context.Context) ([]pick.Item, error) {
	provider, _, _ := strings.Cut(s.About().Model, "/")
	if provider == "scripted" { // has no list
		return []pick.Item{{Text: s.About().Model}}, nil
	}
	if provider == "" {
		return nil, models.NoModelError("no model is configured")
	}
	return s.ModelsOf(ctx, provider)
}

// ModelsOf returns the models of a provider.
func (s *Session) ModelsOf(ctx context.Context, provider string) ([]pick.Item, error) {
	rules := s.at().rules
	at, err := models.Resolve(ctx, s.p.Environment(), provider, s.flags.BaseURL, rules)
	if err != nil {
		return nil, err
	}
	list, err := at.List(ctx, s.p.Environment(), rules)
	if err != nil {
		return nil, err
	}
	items := make([]pick.Item, 0, len(list))
	for _, m := range list {
		detail := ""
		if m.Context > 0 {
			detail = strconv.Itoa(m.Context/1000) + "k tokens"
		}
		items = append(items, pick.Item{Text: provider + "/" + m.Model, Detail: detail})
	}
	return items, nil
}

// Window returns the size of the context window of a model in tokens; 0 if it is not known.
func (s *Session) Window(model string) int {
	s.mu.Lock()
	if model == s.about.Model {
		model = s.spec.Model // a script has another name than its file
	}
	rules := s.rules
	s.mu.Unlock()
	m, err := models.Open(context.Background(), s.p.Environment(), models.Choice{Model: model, BaseURL: s.flags.BaseURL, NoKey: true}, rules)
	if err != nil {
		return 0
	}
	return m.Primary.Info().Context
}

// Sandbox says in a few words what holds the commands of the session.
func (s *Session) Sandbox() string {
	switch {
	case s.in != nil:
		return "container"
	case s.flags.NoSandbox:
		return "none"
	}
	for _, box := range s.at().rules.Sandboxes {
		switch n := box.Settings.Network; {
		case n == nil || n.Ask == nil || *n.Ask: // other hosts need an approval
		case len(n.AllowedDomains) == 0:
			return "sandbox, no network"
		default:
			return "sandbox, listed hosts"
		}
	}
	return "sandbox"
}
