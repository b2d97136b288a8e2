package session

import (
	"context"
	"time"
)

// Search is a query for text in transcripts. Empty fields do not filter.
type Search struct {
	// Words are the words to search for; all of them must be in one item. A "phrase" in quotes must
	// match as a whole; a word that ends with * is a prefix. Case and accents are ignored. No other
	// character has a meaning, so user input is never a query language.
	Words                string
	Tool                 string    // only uses and results of this tool
	Role                 string    // only "user", "assistant" or "tool" items
	Since                time.Time // only records at or after this time
	Until                time.Time // only records before this time
	Project              string
	CWD                  string
	Session              string // only this session
	WithTrash, OnlyTrash bool   // as in [Query]
	Limit                int    // at most this many hits; 0 or less is 50
	After                string // cursor from [Hits]
}

// Hit is an item that matches.
type Hit struct {
	Session string    `json:"session"`
	Seq     int64     `json:"seq"` // seq of its record
	Time    time.Time `json:"time"`
	Role    string    `json:"role"`
	Tool    string    `json:"tool,omitempty"`
	Title   string    `json:"title,omitempty"` // title of the session
	CWD     string    `json:"cwd,omitempty"`
	// Excerpt is the text around the first match, at most about 200 characters on one line. Marks
	// are the byte ranges [from, to) of the matches in it.
	Excerpt string   `json:"excerpt"`
	Marks   [][2]int `json:"marks"`
}

// Hits is a page of hits, newest records first. Next is empty on the last page.
type Hits struct {
	Hits []Hit  `json:"hits"`
	Next string `json:"next,omitempty"`
	// NotIndexed counts sessions whose newest records are not indexed yet.
	NotIndexed int `json:"behind,omitempty"`
}

// Searcher is a store with its own search index. Package internal/session/search has an index for
// all other stores. The index lags behind appends until Index brings it up to date; erased and
// deleted text is no longer found once Index has returned.
type Searcher interface {
	Index(ctx context.Context) error
	Search(ctx context.Context, q Search) (*Hits, error)
}
