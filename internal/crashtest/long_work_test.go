//go:build linux

package crashtest

import (
	"fmt"
	"strings"
)

// task is what a step of the long work does to the folder.
type task struct {
	name, input string
	file        string // to look at, when it is not clear what became of the call
	wants       string // what is in it then
}

// done reports whether what looking showed is what the step wants.
func (t task) done(seen string) bool { return t.wants == "" || strings.Contains(seen, t.wants) }

// taskOf is step n: files are written, changed, copied and written over, and a line is
// added to a log, which must not happen twice.
func taskOf(n int) task {
	file := func(n int) string { return fmt.Sprintf("d%d/f%d.txt", n%7, n) }
	block := (n - 1) / 6 * 6 // the number before the first step of six
	switch n - block {
	case 1:
		return task{"Write", fmt.Sprintf(`{"file_path":%q,"content":"first of %d\n%s\n"}`, file(n), n, strings.Repeat("x", n%97)), file(n), fmt.Sprintf("first of %d\n", n)}
	case 2:
		return task{"Edit", fmt.Sprintf(`{"file_path":%q,"old_string":"first of %d","new_string":"second of %d"}`, file(n-1), n-1, n-1), file(n - 1), fmt.Sprintf("second of %d\n", n-1)}
	case 3:
		return task{"Bash", fmt.Sprintf(`{"command":"echo line %d. >> log.txt"}`, n), "log.txt", fmt.Sprintf("line %d.", n)}
	case 4:
		return task{"Read", fmt.Sprintf(`{"file_path":%q}`, file(n-3)), file(n - 3), ""}
	case 5:
		return task{"Write", fmt.Sprintf(`{"file_path":%q,"content":"third of %d\n"}`, file(n-4), n), file(n - 4), fmt.Sprintf("third of %d\n", n)}
	}
	return task{"Bash", fmt.Sprintf(`{"command":"mkdir -p copies && cp %s copies/c%d && echo copied"}`, file(n-5), n), fmt.Sprintf("copies/c%d", n), "third of"}
}

// act are the calls of a step: some ask for two things at once.
func (p *provider) act(n int) []wireBlock {
	t := taskOf(n)
	uses := []wireBlock{p.use(t.name, t.input)}
	if t.name == "Read" {
		uses = append(uses, p.use("Glob", `{"pattern":"d1/*"}`))
	}
	return uses
}

func (p *provider) look(n int) []wireBlock {
	return []wireBlock{p.use("Read", fmt.Sprintf(`{"file_path":%q}`, taskOf(n).file))}
}
