package files

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

const (
	sniffBytes    = 8000 // bytes that are checked to distinguish text from binary data, as in git
	maxLineLength = 2000 // characters of a line
)

var bom = []byte("\xEF\xBB\xBF")

type readInput struct {
	Path   string `json:"file_path" jsonschema:"The file to read: absolute, or relative to the current directory"`
	Offset int    `json:"offset,omitempty" jsonschema:"The number of lines to skip; 0 starts at line 1"`
	Limit  *int   `json:"limit,omitempty" jsonschema:"The maximum number of lines to read; default 2000"`
}

// check rejects an offset or limit that no file can satisfy.
func (f *Files) check(in readInput) error {
	switch {
	case in.Offset < 0:
		return errors.New("offset must not be negative")
	case in.Limit != nil && (*in.Limit < 1 || *in.Limit > f.opts.MaxBytes):
		return fmt.Errorf("limit must be from 1 to %d", f.opts.MaxBytes)
	}
	return nil
}

func (f *Files) newRead() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name: "Read",
		Description: "Reads a text file with line numbers (N, a tab, the line), an image (png, jpeg, gif, webp), or the cells of a notebook (.ipynb) with their outputs. " +
			"Long files are returned in parts: continue with offset. Long lines are truncated.",
		ReadOnly: true,
	}, f.read, func(call *tool.Call, in readInput) ([]policy.Request, error) {
		if err := f.check(in); err != nil {
			return nil, err
		}
		_, r, err := f.request(call, policy.OpRead, in.Path)
		return []policy.Request{r}, err
	})
}

func (f *Files) read(ctx context.Context, call *tool.Call, in readInput) (tool.Result, error) {
	if err := f.check(in); err != nil {
		return tool.Failure(err.Error()), nil
	}
	p, err := f.locateFor(policy.OpRead, call, in.Path)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	file, info, err := p.Open()
	if err != nil {
		return tool.Failure(openErrorText(p, err)), nil
	}
	defer file.Close()
	r := &lines{ctx: ctx, in: bufio.NewReaderSize(file, 64<<10)}
	head, err := r.in.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return tool.Failure((&workdir.PathError{Path: p.Abs, Err: err}).Error()), nil
	}
	if mime := http.DetectContentType(head); isImage(mime) {
		return f.readImage(p, info, r.in, mime)
	}
	if why := notTextReason(head); why != "" {
		return refuseBinary(p, info, r.in, why), nil
	}
	if isNotebook(p.Abs) && info.Size() <= maxWhole {
		return f.readNotebook(p, info, r, in)
	}
	if info.Size() <= maxWhole {
		r.sum = sha256.New()
	}
	out, err := f.numbered(r, in)
	if err != nil {
		return tool.Failure((&workdir.PathError{Path: p.Abs, Err: err}).Error()), nil
	}
	var sum []byte
	if r.sum != nil {
		sum = r.sum.Sum(nil)
	}
	f.markShown(&out, p, digest(info, sum))
	return out, nil
}

// readNotebook returns a notebook's cells. A file that is not a notebook, but has the name of one,
// is read as text.
func (f *Files) readNotebook(p workdir.Path, info fs.FileInfo, r *lines, in readInput) (tool.Result, error) {
	data, err := io.ReadAll(io.LimitReader(r.in, maxWhole+1))
	if err != nil {
		return tool.Failure((&workdir.PathError{Path: p.Abs, Err: err}).Error()), nil // the model reads the error
	}
	sum := sha256.Sum256(data)
	n, wrong := parseNotebook(bytes.TrimPrefix(data, bom))
	var out tool.Result
	if wrong == nil {
		out = f.showNotebook(n, in)
	} else {
		r.in, r.sum = bufio.NewReaderSize(bytes.NewReader(data), 64<<10), nil
		if out, err = f.numbered(r, in); err != nil {
			return tool.Failure((&workdir.PathError{Path: p.Abs, Err: err}).Error()), nil // the model reads the error
		}
		out.Content = append(out.Content, transcript.Text{Text: "[the file " + wrong.Error() + "]"})
	}
	f.markShown(&out, p, digest(info, sum[:]))
	return out, nil
}

// numbered returns the requested lines with their numbers, and how to continue.
func (f *Files) numbered(r *lines, in readInput) (tool.Result, error) {
	limit := f.opts.MaxLines
	if in.Limit != nil {
		limit = *in.Limit
	}
	for r.n < in.Offset {
		if _, more, err := r.next(0); err != nil {
			return tool.Result{}, err
		} else if !more {
			break
		}
	}
	var b strings.Builder
	shown, full := 0, false
	for shown < limit && !full {
		line, more, err := r.next(maxLineLength)
		if err != nil {
			return tool.Result{}, err
		}
		if !more {
			break
		}
		if shown > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d\t%s", r.n, line)
		shown++
		full = b.Len() >= f.opts.MaxBytes
	}
	last := r.n
	total, err := r.totalLines()
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Content: textParts(b.String(), notes(in, shown, last, total, r.broken))}, nil
}

// notes returns notes for the model about the lines. total is -1 if the number of lines is unknown
// and more lines follow.
func notes(in readInput, shown, last, total int, broken bool) string {
	var list []string
	switch {
	case shown > 0 && total > last:
		list = append(list, fmt.Sprintf("[lines %d-%d of %d; continue with offset %d]", in.Offset+1, last, total, last))
	case shown > 0 && total < 0:
		list = append(list, fmt.Sprintf("[lines %d-%d; the file has more; continue with offset %d]", in.Offset+1, last, last))
	case shown == 0 && total == 0:
		list = append(list, "[the file is empty]")
	case shown == 0:
		list = append(list, fmt.Sprintf("[the file has %d lines; offset %d is past the end]", max(total, last), in.Offset))
	}
	if broken {
		list = append(list, "[invalid UTF-8 is shown as \uFFFD]")
	}
	return strings.Join(list, "\n")
}

func textParts(texts ...string) []transcript.Part {
	var list []transcript.Part
	for _, t := range texts {
		if t != "" {
			list = append(list, transcript.Text{Text: t})
		}
	}
	return list
}

func (f *Files) readImage(p workdir.Path, info fs.FileInfo, in io.Reader, mime string) (tool.Result, error) {
	tooBig := tool.Failure(fmt.Sprintf("%s: the image is larger than %d bytes", p.Abs, f.opts.MaxImage))
	if info.Size() > f.opts.MaxImage {
		return tooBig, nil
	}
	data, err := io.ReadAll(io.LimitReader(in, f.opts.MaxImage+1))
	if err != nil {
		return tool.Failure((&workdir.PathError{Path: p.Abs, Err: err}).Error()), nil // the model reads the error
	}
	if int64(len(data)) > f.opts.MaxImage {
		return tooBig, nil
	}
	sum := sha256.Sum256(data)
	about := fmt.Sprintf("[Image file: %s (%d bytes)]", p.Abs, len(data)) // for models that do not see images
	out := tool.Result{Content: []transcript.Part{transcript.Media{MIME: mime, Data: data}, transcript.Text{Text: about}}}
	f.markShown(&out, p, digest(info, sum[:]))
	return out, nil
}

// refuseBinary returns the error for a file that is not text. It omits the digest if the file is larger
// than maxWhole.
func refuseBinary(p workdir.Path, info fs.FileInfo, in io.Reader, why string) tool.Result {
	about := fmt.Sprintf("%d bytes", info.Size())
	if info.Size() <= maxWhole {
		sum := sha256.New()
		if _, err := io.Copy(sum, io.LimitReader(in, maxWhole)); err == nil {
			about += fmt.Sprintf(", sha256 %x", sum.Sum(nil))
		}
	}
	return tool.Failure(fmt.Sprintf("%s: %s (%s)", p.Abs, why, about))
}

func isImage(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// notTextReason returns the reason why a file with this beginning cannot be shown as text, or "".
func notTextReason(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}), bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return "is UTF-16 text; convert it with iconv -f UTF-16 -t UTF-8"
	case bytes.IndexByte(head, 0) >= 0:
		return "is a binary file"
	}
	return ""
}

// lines reads a file line by line in constant memory.
type lines struct {
	ctx    context.Context
	in     *bufio.Reader
	sum    hash.Hash // digest of all bytes read, or nil
	n      int       // lines read
	broken bool      // some bytes were not valid UTF-8
}

// next returns the next line without its line ending, truncated to a maximum number of characters.
// more is false at the end of the file.
func (r *lines) next(keep int) (line string, more bool, err error) {
	if r.n%1024 == 0 && r.ctx.Err() != nil {
		return "", false, r.ctx.Err()
	}
	var kept []byte
	size := 0
	for {
		piece, err := r.in.ReadSlice('\n')
		if r.sum != nil {
			r.sum.Write(piece)
		}
		size += len(piece)
		if room := keep*utf8.UTFMax + 4 - len(kept); keep > 0 && room > 0 {
			kept = append(kept, piece[:min(room, len(piece))]...)
		}
		switch {
		case err == nil, err == io.EOF && size > 0:
			r.n++
			return r.show(kept, size, keep), true, nil
		case err == io.EOF:
			return "", false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", false, err
		case r.ctx.Err() != nil:
			return "", false, r.ctx.Err()
		}
	}
}

func (r *lines) show(kept []byte, size, keep int) string {
	if keep == 0 {
		return ""
	}
	whole := size == len(kept)
	if r.n == 1 {
		kept = bytes.TrimPrefix(kept, bom)
	}
	kept = bytes.TrimSuffix(kept, []byte("\n"))
	kept = bytes.TrimSuffix(kept, []byte("\r"))
	if whole && !utf8.Valid(kept) {
		r.broken = true
	}
	s := strings.ToValidUTF8(string(kept), "\uFFFD")
	if whole && len(s) <= keep {
		return s
	}
	chars := 0
	for i := range s {
		if chars == keep {
			return s[:i] + "… [line cut]"
		}
		chars++
	}
	return s
}

// totalLines returns the number of all lines of the file. It reads the file to its end, so that all of it
// is hashed. If the file is not being hashed, totalLines reads no further, and returns -1 if there are
// more lines.
func (r *lines) totalLines() (int, error) {
	if r.sum == nil {
		if _, err := r.in.Peek(1); err != nil {
			return r.n, nil // the end or an error: there are no more lines to count
		}
		return -1, nil
	}
	for {
		if _, more, err := r.next(0); err != nil || !more {
			return r.n, err
		}
	}
}
