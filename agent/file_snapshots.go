package agent

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// fileSnapshots records the content of files in the session's log before calls change them.
type fileSnapshots struct {
	mu sync.Mutex // allows only one snapshot at a time, so that equal content is stored only once
	at map[string]int64
}

// fileSaver returns the function that a call uses to save a file before it changes the file, or nil
// without a log.
func (l *loop) fileSaver(c *call) func(context.Context, tool.Image) error {
	if l.log == nil {
		return nil
	}
	return func(ctx context.Context, i tool.Image) error { return l.saveFile(ctx, c.use.ID, i) }
}

func (l *loop) saveFile(ctx context.Context, use string, i tool.Image) error {
	l.saves.mu.Lock()
	defer l.saves.mu.Unlock()
	f := record.FileSaved{Use: use, Path: i.Path, Digest: record.FileAbsent, After: i.After, Folders: i.Folders, ParentHeads: l.a.parentHeads()}
	if i.Existed {
		f.Describe(i.Mode, i.Size, i.Digest)
		f.SetContent(i.Data, l.saves.at)
	}
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	d := session.Draft{Kind: record.KindFileSaved, Payload: payload}
	kept := f.Data != ""
	if l.a.opt.Mask != nil {
		r := session.Record{Kind: d.Kind, Payload: d.Payload}
		masked, found := r.Mask(func(raw json.RawMessage) json.RawMessage {
			raw, _ = l.a.opt.Mask.JSON(raw)
			return raw
		})
		if found {
			d.Payload, kept = masked, false
		}
	}
	ctx, done := detachedContext(ctx)
	recs, err := l.log.Append(ctx, d)
	if err = done(err); err != nil {
		return err
	}
	if kept {
		if l.saves.at == nil {
			l.saves.at = map[string]int64{}
		}
		l.saves.at[f.Digest] = recs[0].Seq
	}
	return nil
}

// parentHeads returns the log heads of the agent's parents, nearest first. A rewind of a parent
// uses the log heads to find what happened after one of its records.
func (a *Agent) parentHeads() []record.LogHead {
	var list []record.LogHead
	for p := a.opt.parent; p != nil; p = p.opt.parent {
		if log := p.openLog(); log != nil {
			list = append(list, record.LogHead{Session: log.ID(), Seq: log.Head()})
		}
	}
	return list
}
