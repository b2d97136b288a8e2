package session

import (
	"context"
	"time"
)

// Search says what to look for in transcripts. Empty fields do not filter.
type Search struct {
	// Words must all be in one item; "a phrase" in quotes stands together; a word that
	// ends with * is the beginning of one. Case and accents do not count. Nothing else
	// has a meaning: what the user types is no query language of an engine.
	Words                string
	Tool                 string    // in uses and results of this tool only
	Role                 string    // "user", "assistant" or "tool" items only
	Since                time.Time // records from then on
	Until                time.Time // records before then
	Project              string
	CWD                  string
	Session              string // in this session only
	WithTrash, OnlyTrash bool   // as in [Query]
	Limit                int    // at most this many hits; 0 or less is 50
	After                string // cursor from [Hits]
}

// Hit is an item that was found.
type Hit struct {
	Session string    `json:"session"`
	Seq     int64     `json:"seq"` // of its record
	Time    time.Time `json:"time"`
	Role    string    `json:"role"`
	Tool    string    `json:"tool,omitempty"`
	Title   string    `json:"title,omitempty"` // of the session
	CWD     string    `json:"cwd,omitempty"`
	// Excerpt is the text around the first word found, at most some 200 characters on
	// one line; Marks are the places of the words in it, in bytes, [from, to).
	Excerpt string   `json:"excerpt"`
	Marks   [][2]int `json:"marks"`
}

// Hits is a page of them, those of the newest records first. Next is empty on the last.
type Hits struct {
	Hits []Hit  `json:"hits"`
	Next string `json:"next,omitempty"`
	// NotIndexed counts sessions whose newest records are not indexed yet.
	NotIndexed int `json:"behind,omitempty"`
}

// Searcher is a store that has an index of its own. Package internal/session/search has one for
// every other store. An index runs behind the append and is brought up to date by
// Index; what was erased or deleted is not found any more once Index has returned.
type Searcher interface {
	Index(ctx context.Context) error
	Search(ctx context.Context, q Search) (*Hits, error)
}
