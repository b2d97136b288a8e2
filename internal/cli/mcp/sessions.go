package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// sessionTools are tools that read earlier sessions. They change nothing, and they read only one
// project unless --all-sessions is set.
type sessionTools struct {
	p        *command.Program
	store    string
	sessions *session.Sessions
	project  string // "": any project
}

func (c *serveCmd) sessionTools(p *command.Program, cwd string, sessions *session.Sessions) ([]tool.Tool, error) {
	l := &sessionTools{p: p, store: c.Store, sessions: sessions}
	if !c.AllProjects {
		var err error
		if l.project, _, err = project.ID(cwd); err != nil {
			return nil, err
		}
	}
	list, err1 := tool.New(tool.Spec{
		Name: "SessionList", ReadOnly: true, Description: "Lists the sessions of earlier and other agents in this project, newest first.",
	}, l.list, noRequests[listInput])
	find, err2 := tool.New(tool.Spec{
		Name: "SessionSearch", ReadOnly: true,
		Description: "Searches session transcripts, newest first. All words must occur in one item. Use \"a phrase\" for adjacent words and dep* for a prefix.",
	}, l.search, noRequests[searchInput])
	show, err3 := tool.New(tool.Spec{
		Name: "SessionShow", ReadOnly: true, Description: "Shows the transcript of one session, in pages of items.",
	}, l.show, noRequests[showInput])
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, err
		}
	}
	return []tool.Tool{list, find, show}, nil
}

// noRequests is for calls that access no file and no host.
func noRequests[In any](c *tool.Call, _ In) ([]policy.Request, error) {
	return []policy.Request{{Resource: c.Tool, ReadOnly: true}}, nil
}

type listInput struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"Maximum number of sessions, 1 to 100; default 20"`
	Cursor string `json:"cursor,omitempty" jsonschema:"Cursor from a previous page"`
}

type searchInput struct {
	Words  string `json:"words" jsonschema:"The words to search for"`
	Tool   string `json:"tool,omitempty" jsonschema:"Search only uses and results of this tool"`
	Role   string `json:"role,omitempty" jsonschema:"Search only items with this role: user, assistant or tool"`
	Limit  int    `json:"limit,omitempty" jsonschema:"Maximum number of hits, 1 to 100; default 20"`
	Cursor string `json:"cursor,omitempty" jsonschema:"Cursor from a previous page"`
}

type showInput struct {
	Session string `json:"session" jsonschema:"A session: an id, its first or last characters, or a title"`
	From    int    `json:"from,omitempty" jsonschema:"The first item to show, counted from 1"`
	Limit   int    `json:"limit,omitempty" jsonschema:"Maximum number of items, 1 to 200; default 50"`
}

// limitOf returns the limit that the model chose, or the default.
func limitOf(given, usual, most int) (int, error) {
	switch {
	case given == 0:
		return usual, nil
	case given < 0 || given > most:
		return 0, fmt.Errorf("limit must be 1 to %d", most)
	}
	return given, nil
}

func (l *sessionTools) list(ctx context.Context, _ *tool.Call, in listInput) (tool.Result, error) {
	limit, err := limitOf(in.Limit, 20, 100)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	page, err := l.sessions.List(ctx, session.Query{Project: l.project, Limit: limit, After: in.Cursor, Worktrees: true})
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	var b strings.Builder
	for _, m := range page.Sessions {
		fmt.Fprintf(&b, "%s  %s  %d items  %s\n", m.ID, m.UpdatedAt.UTC().Format(time.RFC3339), m.MessageCount, term.OneLine(cmp.Or(m.Title, m.FirstPrompt)))
	}
	if page.Next != "" {
		b.WriteString("more: cursor " + page.Next + "\n")
	}
	return tool.Text(cmp.Or(b.String(), "no sessions")), nil
}

func (l *sessionTools) search(ctx context.Context, _ *tool.Call, in searchInput) (tool.Result, error) {
	limit, err := limitOf(in.Limit, 20, 100)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	ref, err := stores.Parse(l.p.Environment(), l.store)
	if err != nil {
		return tool.Result{}, err
	}
	found, err := stores.Search(ctx, l.p.Environment(), ref, l.sessions.Store(), session.Search{
		Words: in.Words, Tool: in.Tool, Role: in.Role, Limit: limit, After: in.Cursor, Project: l.project,
	}, false)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	var b strings.Builder
	for i := range found.Hits {
		h := &found.Hits[i]
		fmt.Fprintf(&b, "%s  record %d  %s  %s: %s\n", h.Session, h.Seq, h.Time.UTC().Format(time.RFC3339), cmp.Or(h.Tool, h.Role), term.OneLine(h.Excerpt))
	}
	if found.Next != "" {
		b.WriteString("more: cursor " + found.Next + "\n")
	}
	return tool.Text(cmp.Or(b.String(), "nothing found")), nil
}

func (l *sessionTools) show(ctx context.Context, _ *tool.Call, in showInput) (tool.Result, error) {
	limit, err := limitOf(in.Limit, 50, 200)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	m, err := l.sessions.Find(ctx, in.Session)
	if err == nil && l.project != "" && m.Project != l.project {
		err = fmt.Errorf("session %s belongs to another project", in.Session)
	}
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	from := min(max(in.From-1, 0), m.MessageCount)
	page, err := l.sessions.Load(ctx, m.ID, &session.LoadOptions{Offset: from})
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	items := page.Items[:min(limit, len(page.Items))]
	var b strings.Builder
	fmt.Fprintf(&b, "session %s  %s  items %d to %d of %d\n", m.ID, term.OneLine(cmp.Or(m.Title, m.FirstPrompt)), from+1, from+len(items), m.MessageCount)
	for _, e := range items {
		it, err := e.Decode()
		if err != nil {
			return tool.Failure(err.Error()), nil
		}
		fmt.Fprintf(&b, "\n[%s]\n", it.Role)
		writeParts(&b, it.Parts)
	}
	if to := from + len(items); to < m.MessageCount {
		fmt.Fprintf(&b, "\nmore: from %d\n", to+1)
	}
	return tool.Text(b.String()), nil
}

// writeParts writes the parts of an item, except thinking.
func writeParts(b *strings.Builder, parts []transcript.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case transcript.Text:
			b.WriteString(strings.TrimRight(p.Text, "\n") + "\n")
		case transcript.ToolUse:
			fmt.Fprintf(b, "%s %s\n", p.Name, p.Input)
		case transcript.ToolResult:
			if p.IsError {
				b.WriteString("failed: ")
			}
			writeParts(b, p.Content)
		case transcript.Structured:
			fmt.Fprintf(b, "%s\n", p.Value)
		case transcript.Media:
			fmt.Fprintf(b, "(%s, %d bytes)\n", p.MIME, len(p.Data))
		case transcript.File:
			fmt.Fprintf(b, "(%s, %s, %d bytes)\n", p.Name, p.MIME, len(p.Data))
		}
	}
}
