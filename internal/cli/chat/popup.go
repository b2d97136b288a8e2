package chat

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/chat/files"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// popup is the list of completions below the box.
type popup struct {
	*pick.Picker
	start int    // of the word in the box
	word  string // as it was when the list was made
}

// complete shows the completions of the word before the cursor: /command at the start, or @file.
func (u *ui) complete() {
	u.popup = nil
	word, start := u.box.Word()
	begins := !u.mention
	if u.mention = strings.HasPrefix(word, "@"); u.mention && begins && u.files != nil {
		u.files.Refresh()
	}
	var items []pick.Item
	switch {
	case start == 0 && strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/"):
		items = u.slashItems()
	case u.mention:
		items = u.fileItems()
	default:
		return
	}
	p := pick.New(&pick.Options{Items: items, Compact: true})
	query := word[1:]
	if word[0] == '@' {
		query, _ = files.Query(query)
	}
	p.Filter(query)
	if _, ok := p.Selected(); ok {
		u.popup = &popup{p, start, word}
	}
}

func (u *ui) slashItems() (items []pick.Item) {
	for _, c := range slashCommands() {
		items = append(items, pick.Item{Text: c.name, Detail: c.help, Value: "/" + c.name})
	}
	if u.s != nil {
		for _, c := range u.s.Commands() {
			items = append(items, pick.Item{Text: c.Name, Detail: term.OneLine(c.Help), Value: "/" + c.Name})
		}
	}
	return items
}

func (u *ui) closePopup() { u.popup, u.mention = nil, false }

// popupKey takes a key of the list. Enter sends a command that is typed whole.
func (u *ui) popupKey(k edit.Key) bool {
	it, ok := u.popup.Selected()
	switch {
	case k.Name == "esc":
		u.closePopup()
		return true
	case k.Name == "up", k.Name == "down", k.Ctrl && (k.Code == 'n' || k.Code == 'p'):
		return u.popup.Press(k) != pick.Ignored
	case ok && (k.Name == "tab" && !k.Shift || k.Name == "enter" && !k.Alt && !k.Ctrl && !k.Shift):
		whole := it.Value == u.popup.word || files.Quote(it.Value) == u.popup.word
		start, word := u.popup.start, u.popup.word
		u.closePopup()
		if whole && k.Name == "enter" {
			return false
		}
		text := it.Value
		if strings.HasPrefix(word, "@") {
			if text = files.Quote(text); u.attachMention(start, text) {
				return true
			}
		}
		if !strings.HasSuffix(text, "/") {
			text += " "
		}
		u.box.Replace(start, text)
		if k.Name == "enter" && strings.HasPrefix(text, "/") && !takesArguments(strings.TrimSpace(text[1:])) {
			u.submit()
			return true
		}
		u.complete()
		return true
	}
	return false
}

// takesArguments reports whether a command of the conversation needs arguments.
func takesArguments(name string) bool {
	for _, c := range slashCommands() {
		if c.name == name {
			return c.args != "" && !strings.HasPrefix(c.args, "[")
		}
	}
	return true // a command of the project
}

// fileItems returns the files of the project, as far as they are known.
func (u *ui) fileItems() []pick.Item {
	if u.files == nil {
		u.files = files.Start(&files.Options{Dir: u.cwd})
	}
	items, done := u.files.Items()
	if !done && !u.walking {
		u.walking = true
		u.later(func(ctx context.Context) func() {
			select {
			case <-u.files.Changed():
			case <-ctx.Done():
			}
			return func() {
				u.walking = false
				if u.mention {
					u.complete()
				}
			}
		})
	}
	return items
}
