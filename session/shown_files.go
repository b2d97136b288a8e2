package session

import (
	"bytes"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// shownIndex is the data that a [replayer] has about the files that tool results show.
type shownIndex struct {
	pending map[string][]record.FileShown // calls that ended but have no result yet, by tool use
	shown   map[string]shownFiles         // items and the files they show, by item id
}

// shownFiles has an item with tool results, as it was appended, and the files that the item shows.
type shownFiles struct {
	item  []byte
	files []record.FileShown
}

// saw stores which files a call showed or wrote.
func (f *replayer) saw(t *record.ToolFinished) {
	files := t.FilesShown
	for _, c := range t.Changes {
		files = append(files, record.FileShown{Path: c.Path, Digest: c.After})
	}
	if len(files) == 0 {
		return
	}
	if f.pending == nil {
		f.pending = map[string][]record.FileShown{}
	}
	f.pending[t.Use] = files
}

// shows notes that an item shows the files of its tool calls, unless the item's payload was
// replaced.
func (f *replayer) shows(e transcript.Encoded, whole bool) {
	if len(f.pending) == 0 {
		return
	}
	var files []record.FileShown
	for _, use := range e.ResultIDs() {
		files = append(files, f.pending[use]...)
		delete(f.pending, use)
	}
	if len(files) == 0 || !whole {
		return
	}
	if f.shown == nil {
		f.shown = map[string]shownFiles{}
	}
	f.shown[e.ID()] = shownFiles{e.JSON, files}
}

// seen lists the files that the transcript shows now. An item that was changed since it was
// appended is not counted, because it may no longer show them.
func (f *replayer) seen() []record.FileShown {
	if len(f.shown) == 0 {
		return nil
	}
	var list []record.FileShown
	at := map[string]int{}
	for _, e := range f.s.Items {
		s, ok := f.shown[e.ID()]
		if !ok || !bytes.Equal(s.item, e.JSON) {
			continue
		}
		for _, file := range s.files {
			i, again := at[file.Path]
			if !again {
				i = len(list)
				at[file.Path] = i
				list = append(list, record.FileShown{})
			}
			list[i] = file
		}
	}
	return list
}
