package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/cli/chat/render"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/pager"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
	"github.com/holdfast-dev/holdfast/session"
)

// picking is a list from which the user chooses.
type picking struct {
	*pick.Picker
	title  string
	chosen func(pick.Item)
}

// choose shows a list.
func (u *ui) choose(title string, items []pick.Item, chosen func(pick.Item)) {
	u.picker = &picking{pick.New(&pick.Options{Title: title, Items: items}), title, chosen}
}

func (u *ui) pickKey(k edit.Key) {
	switch u.picker.Press(k) {
	case pick.Chosen:
		p := u.picker
		u.picker = nil
		if it, ok := p.Selected(); ok {
			p.chosen(it)
		}
	case pick.Cancelled:
		u.picker = nil
	case pick.Ignored:
		if k.Ctrl && (k.Code == 'c' || k.Code == 'd') {
			u.picker = nil
		}
	}
}

func (u *ui) pageKey(k edit.Key) {
	switch done := u.page.Press(k); {
	case done == pager.Closed || k.Ctrl && k.Code == 'c':
		u.page = nil
	case done == pager.Open:
		u.editText(u.page.Text(), func(string) {})
	}
}

// openTranscript shows everything of the conversation.
func (u *ui) openTranscript() { u.openBlocks("conversation", u.blocks) }

func (u *ui) openBlocks(title string, blocks []*conversation.Block) {
	list := slices.Clone(blocks)
	var sections []pager.Section
	for i, b := range list {
		var before *conversation.Block
		if i > 0 {
			before = list[i-1]
		}
		sections = append(sections, pager.Section{Lines: func(width int) []string {
			lines := u.look.Full(b, width)
			if u.look.Gap(before, b) {
				lines = append([]string{""}, lines...)
			}
			return lines
		}})
	}
	u.page = pager.New(&pager.Options{Keys: u.keys, Title: title, Sections: sections, End: true})
}

// openText shows a text.
func (u *ui) openText(title string, text string) {
	u.page = pager.New(&pager.Options{Keys: u.keys, Title: title, Sections: []pager.Section{{Lines: func(width int) []string { return folded(text, width) }}}})
}

// show runs commands of the program and shows their output.
func (u *ui) show(title string, calls ...[]string) {
	u.say(title + " …")
	u.later(func(ctx context.Context) func() {
		var b strings.Builder
		for _, c := range calls {
			out, err := u.cli(ctx, c...)
			if err != nil {
				out = errorText(err) + "\n"
			}
			b.WriteString(out)
		}
		return func() {
			u.tip = ""
			u.openText(title, b.String())
		}
	})
}

func (u *ui) help(string) {
	var b strings.Builder
	b.WriteString("Commands\n")
	for _, c := range slashCommands() {
		fmt.Fprintf(&b, "  %-26s %s\n", strings.TrimSpace("/"+c.name+" "+c.args), c.help)
	}
	var list []Expandable
	if u.s != nil {
		list = u.s.Commands()
	}
	if len(list) > 0 {
		b.WriteString("\nOf this project\n")
		for _, c := range list {
			fmt.Fprintf(&b, "  %-26s %s\n", "/"+term.EscapeStrict(c.Name), term.EscapeStrict(term.OneLine(c.Help)))
		}
	}
	if u.look.Plain {
		b.WriteString("\n" + plainHelp)
	} else {
		b.WriteString(u.keysHelp())
	}
	u.openText("help", b.String())
}

const plainHelp = `Text
  text        a message; while the agent works, it reads the message before its next step
  text \      a backslash at the end continues the message in the next line
  @file       name a file, or send an image
  !command    run your own command in the sandbox; the agent sees the output with your next message
  #text       add a line to the project's instructions
  a number    an answer to the question, or an entry of the list, that was printed last
Keys
  Enter       in a list: none of its entries
  Ctrl-C      interrupt the agent or go back in a question; twice: leave
  Ctrl-D      leave; a working agent continues in the daemon
`

// showStatus prints the status line, which the plain form does not have.
func (u *ui) showStatus(string) {
	words := render.Renderer{Plain: true}
	u.note(words.Status(u.parts(), 400))
	if u.look.Plain {
		u.printStatus()
	}
}

// openTurn shows everything since the user's last message, in the plain form; otherwise of the whole
// conversation.
func (u *ui) openTurn(string) {
	if !u.look.Plain {
		u.openTranscript()
		return
	}
	from := len(u.blocks) - 1
	for from > 0 && (u.blocks[from].Kind != conversation.User || u.blocks[from].Agent != "") {
		from--
	}
	u.openBlocks("last turn", u.blocks[max(from, 0):])
}

// openQueue lists the messages that the agent has not read; the chosen one comes back into the box.
func (u *ui) openQueue(string) {
	var items []pick.Item
	queue := u.conv.State().Queue
	for _, q := range queue {
		items = append(items, pick.Item{Text: term.OneLine(q.Text), Value: q.ID})
	}
	if len(items) == 0 {
		u.say("no message is queued")
		return
	}
	u.choose("queued messages: take one back", items, func(it pick.Item) {
		for _, q := range queue {
			if q.ID == it.Value {
				u.takeBack(q)
			}
		}
	})
}

// openRewind lists the user's messages; the chosen one comes back into the box.
func (u *ui) openRewind() {
	if u.s == nil {
		return
	}
	if u.s.ID() == "" {
		u.say(noSession)
		return
	}
	if u.conv.State().Working {
		u.say("interrupt the agent first")
		return
	}
	u.later(func(ctx context.Context) func() {
		points, err := u.s.Messages(ctx)
		return func() {
			switch {
			case err != nil:
				u.fail("rewind", err)
			case len(points) == 0:
				u.say("there is no earlier message")
			default:
				u.chooseMessage(points)
			}
		}
	})
}

func (u *ui) chooseMessage(points []Message) {
	var items []pick.Item
	for i, m := range slices.Backward(points) {
		items = append(items, pick.Item{Text: term.OneLine(m.shown()), Value: fmt.Sprint(i), Preview: func(w, h int) []string {
			return folded(term.Escape(m.shown()), w)
		}})
	}
	u.choose("go back to before this message", items, func(it pick.Item) {
		var i int
		_, _ = fmt.Sscan(it.Value, &i)
		u.planRewind(points[i])
	})
}

// planRewind shows what a rewind would change, and lets the user choose. What is chosen happens only if it is still
// what was shown.
func (u *ui) planRewind(m Message) {
	u.later(func(ctx context.Context) func() {
		plans := map[string]*api.RewindResult{}
		var err error
		for _, what := range []string{"both", "transcript", "files"} {
			if err == nil {
				plans[what], err = u.s.Rewind(ctx, rewindTo(m, what))
			}
		}
		return func() {
			if err != nil {
				u.fail("rewind", err)
				return
			}
			plan := plans["both"]
			if u.look.Plain { // it has no previews
				u.print(u.look.RewindFiles(plan, u.width)...)
			}
			preview := func(w, _ int) []string { return u.look.RewindFiles(plan, w) }
			items := []pick.Item{
				{Text: "conversation and files", Detail: term.Count(len(plan.Files), "file"), Value: "both", Preview: preview},
				{Text: "conversation only", Value: "transcript"},
				{Text: "files only", Value: "files", Preview: preview},
				{Text: "fork: continue from there in a new session", Value: "fork"},
			}
			u.choose("rewind", items, func(it pick.Item) {
				if it.Value == "fork" {
					u.forkBefore(m)
					return
				}
				u.rewind(m, it.Value, plans[it.Value].Digest)
			})
		}
	})
}

func (u *ui) rewind(m Message, what, digest string) {
	u.later(func(ctx context.Context) func() {
		r := rewindTo(m, what)
		r.Digest = digest
		plan, err := u.s.Rewind(ctx, r)
		return func() {
			if err != nil {
				u.fail("rewind", err)
				return
			}
			if plan.Done != nil {
				for _, n := range plan.Done.Notices {
					u.note(n)
				}
			}
			if what != "files" {
				u.box.Set(u.labels.entry(m.Text, m.Images))
			}
		}
	})
}

// forkBefore continues before a message in a new session: in a fork, or in an empty one if the message is
// the first.
func (u *ui) forkBefore(m Message) {
	again := func() { u.box.Set(u.labels.entry(m.Text, m.Images)) }
	if m.Before == "" {
		u.join(false, func(context.Context) (string, error) { return "", nil }, again)
		return
	}
	u.forkAt(m.Before, again)
}

// resume lets the user choose another session.
func (u *ui) resume(name string) {
	if name != "" {
		u.join(false, func(ctx context.Context) (id string, err error) {
			err = u.s.withStore(ctx, func(sessions *session.Sessions) error {
				m, err := sessions.Find(ctx, name)
				id = m.ID
				return err
			})
			return id, err
		}, nil)
		return
	}
	u.later(func(ctx context.Context) func() {
		list, err := u.s.Sessions(ctx, "")
		return func() { u.chooseSession("sessions", list, err) }
	})
}

func (u *ui) search(words string) {
	if words == "" {
		u.say("usage: /search WORDS")
		return
	}
	u.later(func(ctx context.Context) func() {
		title := "found: " + words
		list, err := u.s.Search(ctx, words)
		if err == nil && len(list) == 0 {
			title = "nothing found for " + words + "; all sessions"
			list, err = u.s.Sessions(ctx, "")
		}
		return func() { u.chooseSession(title, list, err) }
	})
}

func (u *ui) chooseSession(title string, list []pick.Item, err error) {
	switch {
	case err != nil:
		u.fail(title, err)
	case len(list) == 0:
		u.say("there is no such session")
	default:
		u.choose(title, list, func(it pick.Item) {
			u.join(false, func(context.Context) (string, error) { return it.Value, nil }, nil)
		})
	}
}

func (u *ui) showTasks(string) {
	var b strings.Builder
	for _, t := range u.conv.State().Tasks {
		fmt.Fprintf(&b, "%s %s\n", map[string]string{"completed": "[x]", "in_progress": "[>]"}[t.Status], term.Escape(t.Text))
	}
	for _, c := range u.conv.State().Calls {
		if c.Background {
			fmt.Fprintf(&b, "in the background: %s\n%s\n", u.look.Headline(c), term.Escape(c.Output))
		}
	}
	if b.Len() == 0 {
		u.say("there are no tasks")
		return
	}
	u.openText("tasks", b.String())
}

// folded returns the lines of a safe text, of which none is wider than the width. A line that is too long breaks
// between words, and what follows stands below the last column of a table.
func folded(text string, width int) (lines []string) {
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if paint.Width(l) <= width {
			lines = append(lines, paint.FoldText(l, width)...)
			continue
		}
		column := strings.LastIndex(strings.TrimRight(l, " "), "  ") + 2
		if column < 2 || column > width*2/3 {
			column = len(l) - len(strings.TrimLeft(l, " "))
		}
		indent := strings.Repeat(" ", paint.Width(l[:column]))
		for i, part := range paint.Wrap(l[column:], width-len(indent)) {
			if i == 0 {
				part = l[:column] + part
			} else {
				part = indent + part
			}
			lines = append(lines, paint.FoldText(part, width)...)
		}
	}
	return lines
}

func (u *ui) showCost(string) {
	use := u.conv.State().Usage
	u.note(fmt.Sprintf("this run: $%.4f, %d tokens read, %d tokens written", use.CostUSD, use.Input, use.Output))
	u.show("cost", []string{"stats"})
}
