// Package files finds the files of a project that a user can mention in a prompt with @.
//
//	project ──walk, in the background──► Index ──Items──► internal/term/pick
//	                                                        │ Mention
//	                                                        ▼
//	the model ◄── "explain a.go (lines 10-20)" ◄──Expand── "explain @a.go:10-20"
//
//	x := files.Start(&files.Options{Dir: dir})
//	defer x.Close()
//	select {
//	case <-x.Changed():
//		items, _ := x.Items()
//		picker.Set(items)
//	…
//	}
//
// A mention is a path for the model, which reads the file with its tool. So a mention reads nothing
// that the policy does not allow.
package files

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
	"github.com/holdfast-dev/holdfast/internal/tool/search"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
)

// The limits of a walk.
const (
	maxFiles = 100_000
	maxTime  = time.Second
	firstPut = 1000 // files after which the items are first published; then at each doubling
)

// Options configures an index.
type Options struct {
	Dir string // the project, or a folder in it
}

// Index has the files and folders below a folder, found in the background, up to a number and a time.
// Hidden files, secrets and what .gitignore ignores are left out. It is safe for concurrent use.
type Index struct {
	dir     string
	limit   int
	changed chan struct{}
	ctx     context.Context
	stop    context.CancelFunc
	walks   sync.WaitGroup

	mu      sync.Mutex
	items   []pick.Item
	running bool
}

// Start returns an index and starts to fill it.
func Start(o *Options) *Index { return start(o, maxFiles) }

func start(o *Options, limit int) *Index {
	x := &Index{dir: o.Dir, limit: limit, changed: make(chan struct{}, 1)}
	x.ctx, x.stop = context.WithCancel(context.Background())
	x.Refresh()
	return x
}

// Refresh finds the files again, unless a walk is running. The items of the last walk stay until the
// new ones are complete.
func (x *Index) Refresh() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.running || x.ctx.Err() != nil {
		return
	}
	x.running = true
	x.walks.Go(x.walk)
}

// Items returns what was found so far, and whether the walk has ended. The caller must not change
// the items.
func (x *Index) Items() (items []pick.Item, done bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.items, !x.running
}

// Changed returns a channel that receives after the items have changed or a walk has ended.
func (x *Index) Changed() <-chan struct{} { return x.changed }

// Close ends a running walk and waits for it.
func (x *Index) Close() {
	x.stop()
	x.walks.Wait()
}

func (x *Index) walk() {
	ctx, stop := context.WithTimeout(x.ctx, maxTime)
	defer stop()
	first := x.first()
	var found []pick.Item
	folders, next := map[string]bool{".": true}, firstPut
	add := func(rel string) {
		found = append(found, pick.Item{Text: rel, Value: rel, Preview: x.preview(rel)})
		if first && len(found) == next {
			x.publish(found, true)
			next *= 2
		}
	}
	_ = x.paths(ctx, func(rel string) bool {
		if x.isHidden(rel) {
			return true
		}
		for _, dir := range above(rel) {
			if !folders[dir] {
				folders[dir] = true
				add(dir + "/")
			}
		}
		add(rel)
		return len(found) < x.limit
	}) // what cannot be read is not offered
	sorted := slices.Clone(found) // the published items share their memory with found
	slices.SortStableFunc(sorted, func(a, b pick.Item) int {
		return cmp.Or(depth(a.Text)-depth(b.Text), strings.Compare(a.Text, b.Text))
	})
	x.publish(sorted, false)
}

func (x *Index) first() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.items == nil
}

func (x *Index) publish(items []pick.Item, running bool) {
	x.mu.Lock()
	x.items, x.running = items, running
	x.mu.Unlock()
	select {
	case x.changed <- struct{}{}:
	default: // the program has not yet received the last one
	}
}

func (x *Index) paths(ctx context.Context, visit func(rel string) bool) error {
	dir, err := filepath.Abs(x.dir)
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	folders, err := workdir.Open(repository(dir))
	if err != nil {
		return err
	}
	defer folders.Close()
	return search.Paths(ctx, folders, dir, visit)
}

// repository returns the folder of the git repository that contains dir, or dir. The .gitignore files
// between the two apply too.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// isHidden reports whether a file is not offered. Its folders are not hidden. A name that a terminal
// could not show as it is cannot be mentioned either.
func (x *Index) isHidden(rel string) bool {
	if strings.HasPrefix(path.Base(rel), ".") || term.EscapeStrict(rel) != rel || strings.ContainsAny(rel, "\n\t") {
		return true
	}
	r := policy.Request{Operation: policy.OpRead, Resource: "/" + rel}
	return r.ReadsSecret()
}

// above returns the folders of a path, outermost first.
func above(rel string) (dirs []string) {
	for i := range len(rel) {
		if rel[i] == '/' {
			dirs = append(dirs, rel[:i])
		}
	}
	return dirs
}

// depth is the number of folders above a path.
func depth(p string) int { return strings.Count(strings.TrimSuffix(p, "/"), "/") }
