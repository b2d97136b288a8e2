// Package pick is a list from which a user chooses: with a fuzzy filter and a preview for sessions,
// models, files and commands, or as the compact list of completions below an input box. It reads no
// keys and knows no terminal.
//
//	keys, pastes ──▶ Picker ──▶ View: rows and cursor
//	                  ▲  │
//	              Set │  ▼ Selected
//	                items
//
//	p := pick.New(&pick.Options{Title: "Sessions", Items: items})
//	switch p.Press(key) {
//	case pick.Chosen:
//		it, _ := p.Selected()
//		open(it.Value)
//	case pick.Cancelled:
//	}
//	lines, row, col := p.View(80, 24)
//
// The words of the query must all occur in an item's text, each with its characters in order. The
// best match comes first: characters that follow each other or start words and parts of a path count
// more. An upper case letter in a word makes its case matter.
//
// Texts of items are escaped. The lines of a preview are not: its function does that.
package pick

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// Item is an entry of the list.
type Item struct {
	Text   string // what is searched and shown
	Detail string // shown after the text; not searched
	// Value says what the item is for the program, such as an id. It identifies the item when the
	// items change; default Text.
	Value string
	// Preview returns what the picker shows of the item that is selected, or nil. Its lines may have
	// colors and links.
	Preview func(width, height int) []string
}

func (i *Item) value() string {
	if i.Value == "" {
		return i.Text
	}
	return i.Value
}

// Options configures a picker.
type Options struct {
	Title   string
	Items   []Item
	Compact bool // completions: at most 8 rows, without title, query and preview; see [Picker.Filter]
}

// Picker is a list with a filter. It is not safe for concurrent use.
type Picker struct {
	title   string
	compact bool
	box     *edit.Editor // the query
	query   string       // by which the items are filtered
	words   []word

	items   []Item
	entries []entry
	found   []int32 // indexes of the items that match, in their order
	shown   []int32 // the same, best match first
	cursor  int     // index in shown
	top     int     // index in shown of the first visible row
	rows    int     // visible rows of the last View

	matcher matcher
	preview preview
}

// New returns a picker.
func New(o *Options) *Picker {
	if o == nil {
		o = &Options{}
	}
	p := &Picker{title: o.Title, compact: o.Compact, box: edit.New(nil), rows: 1}
	p.Set(o.Items)
	return p
}

// Set replaces the items, for example while they are still being found. The item that was selected
// stays selected. The picker keeps the slice.
func (p *Picker) Set(items []Item) {
	selected, had := p.Selected()
	for i := range items {
		if i < len(p.entries) && p.items[i].Text == items[i].Text {
			continue
		}
		e := newEntry(items[i].Text)
		if i < len(p.entries) {
			p.entries[i] = e
		} else {
			p.entries = append(p.entries, e)
		}
	}
	p.items, p.entries = items, p.entries[:len(items)]
	p.preview = preview{}
	p.filter(nil)
	p.cursor = 0
	if !had {
		return
	}
	for i, n := range p.shown {
		if p.items[n].value() == selected.value() {
			p.cursor = i
			return
		}
	}
}

// Filter shows only the items that match a query. The best match becomes the selected item. It is
// for the compact list, whose query is typed elsewhere.
func (p *Picker) Filter(query string) {
	if query == p.query {
		return
	}
	within := p.found
	if len(query) < len(p.query) || query[:len(p.query)] != p.query {
		within = nil
	}
	p.query, p.words = query, words(query)
	p.filter(within)
	p.cursor, p.top = 0, 0
}

// Selected returns the selected item. There is none if no item matches.
func (p *Picker) Selected() (Item, bool) {
	if p.cursor >= len(p.shown) {
		return Item{}, false
	}
	return p.items[p.shown[p.cursor]], true
}

// Matches returns the items that match, best match first.
func (p *Picker) Matches() []Item {
	list := make([]Item, 0, len(p.shown))
	for _, i := range p.shown {
		list = append(list, p.items[i])
	}
	return list
}

// maxScore and maxLength limit what the order of matches distinguishes.
const (
	maxScore  = 1 << 10
	maxLength = 1 << 6
)

// exactFirst is how many matches, the best by the estimate, are ordered by their best match. The user
// narrows a longer list.
const exactFirst = 1000

// filter finds the items that match the words, in all items or in those that matched before. The
// order is by score, then by length, then by place in the list. Each key searches all items, so the
// scores are estimates at first, and counting orders them, which takes less time than comparing.
func (p *Picker) filter(within []int32) {
	if within == nil {
		within = make([]int32, len(p.items))
		for i := range within {
			within[i] = int32(i)
		}
	}
	found, ranks := p.matches(within)
	p.found, p.shown = found, found
	if len(p.words) == 0 {
		return
	}
	starts := make([]int32, maxScore*maxLength+1)
	for _, r := range ranks {
		starts[r+1]++
	}
	for r := range starts[1:] {
		starts[r+1] += starts[r]
	}
	p.shown = make([]int32, len(found))
	for k, i := range found {
		p.shown[starts[ranks[k]]] = i
		starts[ranks[k]]++
	}
	best := p.shown[:min(exactFirst, len(p.shown))]
	exact := make(map[int32]int32, len(best))
	for _, i := range best {
		exact[i], _ = rank(&p.entries[i], p.words, p.matcher.match)
	}
	slices.SortFunc(best, func(a, b int32) int { return cmp.Or(int(exact[a]-exact[b]), int(a-b)) })
}

// part is how many items one processor searches at least.
const part = 4000

// matches returns the items that match, in their order, and their estimated ranks. Several processors
// search a long list.
func (p *Picker) matches(within []int32) (found, ranks []int32) {
	found, ranks = make([]int32, len(within)), make([]int32, len(within))
	size := max(part, (len(within)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	counts := make([]int, (len(within)+size-1)/size)
	var searches sync.WaitGroup
	for k := range counts {
		start, end := k*size, min((k+1)*size, len(within))
		searches.Go(func() {
			var m matcher
			n := start
			for _, i := range within[start:end] {
				if r, ok := rank(&p.entries[i], p.words, m.estimate); ok {
					found[n], ranks[n] = i, r
					n++
				}
			}
			counts[k] = n - start
		})
	}
	searches.Wait()
	all := 0
	for k, n := range counts {
		copy(ranks[all:], ranks[k*size:k*size+n])
		all += copy(found[all:], found[k*size:k*size+n])
	}
	return found[:all], ranks[:all]
}

// rank returns the place of an item in the order of matches, 0 for the best, and whether it matches.
// Items can have the same rank.
func rank(e *entry, words []word, match func(*entry, *word) (int, bool)) (int32, bool) {
	score := 0
	for i := range words {
		s, ok := match(e, &words[i])
		if !ok {
			return 0, false
		}
		score += s
	}
	length := min(len(e.exact)/2, maxLength-1)
	if len(words) == 1 && len(words[0].chars) == len(e.exact) { // it is the whole text
		length = 0
	}
	return int32((maxScore-1-min(max(score, 0), maxScore-1))*maxLength + length), true
}

// places returns the sorted hits of all words in an item.
func (p *Picker) places(e *entry) (out []hit) {
	for i := range p.words {
		out = append(out, p.matcher.places(e, &p.words[i])...)
	}
	slices.SortFunc(out, func(a, b hit) int { return int(a.at - b.at) })
	return out
}
