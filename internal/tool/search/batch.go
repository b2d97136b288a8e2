package search

import (
	"bytes"
	"context"
	"io"
	"os"
)

const (
	batchFiles      = 256      // open at once
	ripgrepMinBytes = 16 << 20 // bytes; see Search.narrow
)

// batch searches files a few hundred at a time, in order. Every file is opened
// beneath its folder when the walk comes by. A batch of many bytes is narrowed
// down by ripgrep first; what it names is searched like the rest.
type batch struct {
	ctx     context.Context
	matcher *matcher
	answer  *answer
	ripgrep string
	from    int64 // bytes; see Search.narrow

	files []opened
	bytes int64
}

type opened struct {
	abs string
	in  *os.File
}

// add takes a file that the walk came by.
func (b *batch) add(f file) error {
	in, err := f.open()
	if err != nil {
		return nil // it may be gone, or not ours to read
	}
	if !b.canUseRipgrep() {
		defer in.Close()
		return b.search(f.abs, in)
	}
	b.files = append(b.files, opened{f.abs, in})
	b.bytes += f.info.Size()
	if len(b.files) < batchFiles {
		return nil
	}
	return b.flush()
}

// flush searches the files of the batch.
func (b *batch) flush() error {
	defer b.close()
	keep := func(int) bool { return true }
	if len(b.files) > 0 && b.bytes >= b.from { // without a file, ripgrep would look everywhere
		if chosen, ok := b.ripgrepFilter(); ok {
			keep = func(i int) bool { return chosen[i] }
		}
	}
	for i, f := range b.files {
		if !keep(i) {
			continue
		}
		if err := b.search(f.abs, f.in); err != nil {
			return err
		}
	}
	return nil
}

// search searches one open file. It returns errStop when the answer is full.
func (b *batch) search(abs string, in *os.File) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	content, err := load(in)
	if err != nil || binary(content) {
		return nil //nolint:nilerr // what cannot be read has no matches
	}
	b.answer.file(abs, content, b.matcher)
	if b.answer.full {
		return errStop
	}
	return nil
}

func (b *batch) close() {
	for _, f := range b.files {
		f.in.Close()
	}
	b.files, b.bytes = b.files[:0], 0
}

// load reads a file as Read shows it: \n for line ends, no byte order mark.
func load(in io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, maxFile))
	if bytes.Contains(content, []byte("\r\n")) {
		content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	}
	return bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF")), err
}

// binary says whether a content is no text: a NUL near its beginning.
func binary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0
}
