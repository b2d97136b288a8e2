package files

import (
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
)

// maxPreview is the maximum size in bytes of a diff, and of a file for which a diff is made.
const (
	maxPreview = 64 << 10
	maxDiffed  = 1 << 20
)

// preview returns a change as a unified diff, which the user sees before approving the change. It
// returns "" if the change would fail, if the model has not read the file, or if there is no useful
// diff.
func (f *Files) preview(p workdir.Path, change func(old []byte) ([]byte, error)) string {
	old, from := []byte(nil), "/dev/null"
	if info, err := p.Stat(); err == nil {
		if info.Size() > maxDiffed {
			return ""
		}
		was, err := f.current(p)
		if err != nil {
			return ""
		}
		old, from = was.data, p.Abs
	}
	fresh, err := change(old)
	if err != nil || len(fresh) > maxDiffed || !utf8.Valid(old) || !utf8.Valid(fresh) {
		return ""
	}
	diff := udiff.Unified(from, p.Abs, string(old), string(fresh))
	if len(diff) <= maxPreview {
		return diff
	}
	cut := strings.LastIndexByte(diff[:maxPreview], '\n')
	return strings.ToValidUTF8(diff[:cut+1], "") + "… the rest of the diff is not shown\n"
}
