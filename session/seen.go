package session

import (
	"bytes"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// sights is what a [folder] knows of the files that results show.
type sights struct {
	unshown map[string][]record.ShownFile // by tool use: of calls that have ended and have no result yet
	shown   map[string]sight              // by item id
}

// sight is an item with results, as it was appended, and the files that it shows.
type sight struct {
	item  []byte
	files []record.ShownFile
}

// saw notes which files a call has shown or written.
func (f *folder) saw(t *record.ToolFinished) {
	files := t.Seen
	for _, c := range t.Changes {
		files = append(files, record.ShownFile{Path: c.Path, Digest: c.After})
	}
	if len(files) == 0 {
		return
	}
	if f.unshown == nil {
		f.unshown = map[string][]record.ShownFile{}
	}
	f.unshown[t.Use] = files
}

// shows notes that an item shows what its calls have seen; not when something else is
// read in its place.
func (f *folder) shows(e transcript.Encoded, whole bool) {
	if len(f.unshown) == 0 {
		return
	}
	var files []record.ShownFile
	for _, use := range e.ResultIDs() {
		files = append(files, f.unshown[use]...)
		delete(f.unshown, use)
	}
	if len(files) == 0 || !whole {
		return
	}
	if f.shown == nil {
		f.shown = map[string]sight{}
	}
	f.shown[e.ID()] = sight{e.JSON, files}
}

// seen lists what the transcript shows of files now. An item that is not what it was when
// it was appended may have lost it.
func (f *folder) seen() []record.ShownFile {
	if len(f.shown) == 0 {
		return nil
	}
	var list []record.ShownFile
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
				list = append(list, record.ShownFile{})
			}
			list[i] = file
		}
	}
	return list
}
