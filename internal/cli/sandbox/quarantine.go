package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// quarantineItem is one quarantined item, as the list shows it.
type quarantineItem struct {
	quarantine.Item
	Content string `json:"content,omitempty"` // where it is stored
}

type quarantineDoc struct {
	Items    []quarantineItem `json:"items"`
	Restored string           `json:"restored,omitempty"` // its path
	Removed  string           `json:"removed,omitempty"`  // its id
}

func (c *quarantineCmd) Run(_ context.Context, p *command.Program) error {
	if c.Restore != "" && c.Remove != "" {
		return outcome.Invalid("--restore and --remove cannot be used together", "omit one of them")
	}
	home, err := p.Home()
	if err != nil {
		return err
	}
	var doc quarantineDoc
	store := quarantine.Open(home)
	if c.Restore+c.Remove != "" {
		if err := dial.RefuseInsideRun(p, "change the quarantine"); err != nil {
			return err
		}
		if doc.Restored, err = c.change(store); err != nil {
			return err
		}
		doc.Removed = c.Remove
	}
	items, err := store.List()
	if err != nil {
		return err
	}
	doc.Items = []quarantineItem{}
	for _, i := range items {
		doc.Items = append(doc.Items, quarantineItem{Item: i, Content: store.Content(&i)})
	}
	if c.JSON {
		return p.Out.JSON(doc, p.Out.TTY)
	}
	switch {
	case doc.Restored != "":
		p.Err.Line("restored %s; sandboxed commands can read it but not change it", term.Escape(doc.Restored))
		return nil
	case doc.Removed != "":
		p.Err.Line("removed %s", doc.Removed)
		return nil
	case len(items) == 0:
		p.Err.Line("the quarantine is empty")
		return nil
	}
	for _, i := range items {
		p.Out.Line("%s  %s  %s", i.ID, i.Time.Local().Format(time.DateTime), term.Escape(i.Path))
	}
	p.Err.Line("in %s", store)
	return nil
}

// change restores an item and returns its path, or it removes the item.
func (c *quarantineCmd) change(store quarantine.Folder) (restored string, err error) {
	id := c.Restore + c.Remove
	if c.Remove != "" {
		err = store.Remove(id)
	} else {
		var i *quarantine.Item
		if i, err = store.Restore(id); i != nil {
			restored = i.Path
		}
	}
	switch {
	case errors.Is(err, quarantine.ErrNotFound):
		return "", outcome.Invalid(fmt.Sprintf("the quarantine has no item %q", id), "list the items: holdfast sandbox quarantine")
	case errors.Is(err, fs.ErrExist):
		return "", outcome.Invalid(restored+" already exists", "move it away first, or remove the item: holdfast sandbox quarantine --remove "+id)
	}
	return restored, err
}
