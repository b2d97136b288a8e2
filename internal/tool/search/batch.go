package search

import (
	"bytes"
	"context"
	"io"
	"os"
)

const (
	batchFiles      = 256      // maximum number of files that are open at the same time
	ripgrepMinBytes = 16 << 20 // bytes; see Search.ripgrepMin
)

// batch searches files a few hundred at a time, in order. Each file is opened below its folder
// during the walk. If a batch has many bytes, ripgrep first selects the files that may match. Only
// these are searched, in the same way as other files.
type batch struct {
	ctx        context.Context
	matcher    *matcher
	answer     *grepOutput
	ripgrep    string
	ripgrepMin int64 // bytes; see Search.ripgrepMin

	files []opened
	bytes int64
}

type opened struct {
	abs string
	in  *os.File
}

// add adds a file from the walk.
func (b *batch) add(f file) error {
	in, err := f.open()
	if err != nil {
		return nil // the file may have been removed, or may not be readable
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
	if len(b.files) > 0 && b.bytes >= b.ripgrepMin { // without a file argument, ripgrep would search everything
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

// search searches one open file. It returns errStop if the answer is full.
func (b *batch) search(abs string, in *os.File) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	content, err := load(in)
	if err != nil || isBinary(content) {
		return nil // a file that cannot be read has no matches
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

// load reads a file in the form in which Read shows it: with \n line endings and without a byte
// order mark.
func load(in io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, maxFile))
	if bytes.Contains(content, []byte("\r\n")) {
		content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	}
	return bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF")), err
}

// isBinary reports whether a content is not text, because it has a NUL byte near its start.
func isBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0
}
