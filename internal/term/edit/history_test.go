package edit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/inputlog"
)

func open(t testing.TB, path string, o *HistoryOptions) *History {
	t.Helper()
	h, err := OpenHistory(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func add(t testing.TB, h *History, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := h.Add(context.Background(), Entry{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
}

func texts(h *History) (out []string) {
	for _, n := range h.entries {
		out = append(out, n.Text)
	}
	return out
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "history.jsonl")
	h := open(t, path, nil)
	add(t, h, "one", "two\nlines", "two\nlines", " \n", "", "one", "\x1b[31m\u202e")
	want := []string{"one", "two\nlines", "one", "\x1b[31m\u202e"}
	if got := texts(h); !slices.Equal(got, want) {
		t.Errorf("in memory: %q", got)
	}
	if got := texts(open(t, path, nil)); !slices.Equal(got, want) {
		t.Errorf("in the file: %q", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := OpenHistory(filepath.Dir(path), nil); err == nil {
		t.Error("a folder is no history")
	}
}

// Secrets reach the file masked, and blocks survive.
func TestHistoryMasks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	h := open(t, path, &HistoryOptions{Mask: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[masked]") }})
	e := New(&Options{History: h})
	wants := map[string]string{
		"a <paste>" + fiveRow + "</paste>":               "a [pasted 5 lines]|",
		"hunter2 <paste>" + fiveRow + "hunter2</paste>!": "[masked] [pasted 6 lines]!|",
		"hun<paste>ter2\n2\n3\n4</paste>":                "[masked]\n2\n3\n4|", // across the border of the block
	}
	for keys, want := range wants {
		press(e, keys)
		if err := h.Add(t.Context(), e.Take()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(b), "hunter2") {
			t.Errorf("%s, %v", b, err)
		}
		stored := New(&Options{History: open(t, path, nil)})
		if press(stored, "<up>"); shown(stored) != want {
			t.Errorf("%q: stored as %q, want %q", keys, shown(stored), want)
		}
		if press(e, "<up>"); strings.Contains(e.Text(), "masked") { // the user can send it again
			t.Errorf("%q: in memory: %q", keys, e.Text())
		}
		e.Take()
	}
}

// What a crash or another program left does not hide the other entries.
func TestHistoryWithDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	add(t, open(t, path, nil), "one")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("[]\n\n{\"text\":3}\n{\"text\":\"cut o")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, path, nil), "two")
	if got := texts(open(t, path, nil)); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
}

// The file has at most 1,000 entries and 8 MiB.
func TestHistoryLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	var b strings.Builder
	for i := range maxEntries - 1 {
		fmt.Fprintf(&b, "{\"text\":\"%d\"}\n", i)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, path, nil)
	if add(t, h, "full"); open(t, path, nil).Len() != maxEntries {
		t.Errorf("%d", open(t, path, nil).Len())
	}
	add(t, h, "next")
	got := texts(open(t, path, nil))
	if len(got) != keptEntries+1 || got[len(got)-1] != "next" || got[len(got)-2] != "full" || h.Len() != maxEntries {
		t.Errorf("%d in the file, %d in memory", len(got), h.Len())
	}
	long := strings.Repeat("x", maxEntryBytes-100)
	for i := range 9 {
		add(t, h, fmt.Sprint(i, long))
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxBytes || !strings.HasPrefix(texts(open(t, path, nil))[open(t, path, nil).Len()-1], "8x") {
		t.Errorf("%v, %v", info.Size(), err)
	}
	if add(t, h, long+long); h.entry(1).Text != long+long || open(t, path, nil).entry(1).Text == long+long {
		t.Error("a long entry is not only in memory")
	}
}

// Programs that add at the same time lose nothing.
func TestHistoryIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	var wg sync.WaitGroup
	for p := range 8 {
		h := open(t, path, nil)
		wg.Go(func() {
			for i := range 25 {
				if err := h.Add(context.Background(), Entry{Text: fmt.Sprint(p, " ", i), Session: fmt.Sprint(p)}); err != nil {
					t.Error(err)
				}
			}
			if p == 0 {
				if err := inputlog.Remove(context.Background(), path, func(n *inputlog.Entry) bool { return n.Session == "0" }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := texts(open(t, path, nil))
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != 175 || slices.ContainsFunc(got, func(s string) bool { return s[0] == '0' }) {
		t.Errorf("%d entries", n)
	}
}

// An entry that waits for the lock in vain stays in memory.
func TestHistoryIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	unlock, err := diskfile.WaitLock(t.Context(), path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := open(t, path, nil)
	if err := h.Add(ctx, Entry{Text: "one"}); !errors.Is(err, context.Canceled) || h.Len() != 1 {
		t.Errorf("%v, %d", err, h.Len())
	}
}

func BenchmarkOpenHistory(b *testing.B) {
	path := filepath.Join(b.TempDir(), "h")
	h := open(b, path, nil)
	for i := range maxEntries {
		add(b, h, fmt.Sprint(i, " ", strings.Repeat("word ", 20)))
	}
	for b.Loop() {
		open(b, path, nil)
	}
}

func BenchmarkSearch(b *testing.B) {
	h := open(b, "", nil)
	for i := range maxEntries {
		add(b, h, fmt.Sprint(i, " ", strings.Repeat("Word ", 20)))
	}
	for b.Loop() {
		h.find("nothing", 0, 1)
	}
}

// Whatever is in the file, its entries can be shown and another one can be added.
func FuzzHistory(f *testing.F) {
	f.Add([]byte(`{"text":"é [x]","pastes":[[0,1],[3,4],[9,2],[-1,99]]}` + "\n{\"text\":\"\\u001b\\u202e\\r\"}\nnull"))
	f.Fuzz(func(t *testing.T, file []byte) {
		path := filepath.Join(t.TempDir(), "h")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		h := open(t, path, &HistoryOptions{Mask: strings.ToUpper})
		e := New(&Options{History: h})
		for range min(h.Len(), 20) {
			e.recall(1)
			e.View(20)
			if n := e.Take(); join(n.cells()) != n.Text {
				t.Errorf("%q became %q", n.Text, join(n.cells()))
			}
		}
		add(t, h, "added")
		if newest := open(t, path, nil).entry(1).Text; !strings.EqualFold(newest, "added") {
			t.Errorf("newest: %q", newest)
		}
	})
}
