package daemon

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/workspace"
)

const (
	octets = "application/octet-stream"
	// fileTime is how long a file may take to come or to be taken.
	fileTime = 10 * time.Minute
	// maxFile bounds a file that is read or written, in bytes.
	maxFile = workspace.MaxUpload
)

// fileRoutes are the files of a workspace: names come from agents that nobody trusts,
// and nothing goes through a link.
func (a *api) fileRoutes(problems []outcome.Outcome) []route {
	in := param{name: "in", doc: "home: what agents keep; project: what they work on", oneOf: []string{workspace.HomeFiles, workspace.ProjectFiles}, needed: true}
	file := param{name: "path", doc: "below that folder, with slashes", needed: true}
	problems = append(problems, outcome.TooLarge)
	return []route{
		{
			method: http.MethodGet, path: "/v1/workspaces/{slug}/files", id: "listWorkspaceFiles", tag: "workspaces",
			doc: "A folder, by name.", scope: auth.Read, answer: listOf[WorkspaceFile]{}, problems: problems, serve: a.listFiles,
			query: paged(in, param{name: "path", doc: "the folder; left out, the first one"},
				param{name: "hidden", doc: "also names that begin with a dot", kind: "boolean"}),
		},
		{
			method: http.MethodGet, path: "/v1/workspaces/{slug}/files/content", id: "readWorkspaceFile", tag: "workspaces",
			doc:   "A file. The home of an agent may hold its keys, so that looking is not enough for it.",
			scope: auth.Run, types: []string{octets}, query: []param{in, file}, problems: problems, serve: a.readFile,
		},
		{
			method: http.MethodPut, path: "/v1/workspaces/{slug}/files/content", id: "writeWorkspaceFile", tag: "workspaces",
			doc:   "Writes a file: it is there whole or not at all, and replaces one of its name. Folders are made.",
			scope: auth.Run, raw: octets, query: []param{in, file}, answer: WorkspaceFile{},
			problems: append(problems, outcome.Full, outcome.MediaType), serve: a.writeFile,
		},
		{
			method: http.MethodDelete, path: "/v1/workspaces/{slug}/files", id: "deleteWorkspaceFile", tag: "workspaces",
			doc:   "Removes a file, a link, or a folder with all below it.",
			scope: auth.Run, status: http.StatusNoContent, query: []param{in, file}, problems: problems, serve: a.removeFile,
		},
	}
}

// WorkspaceFile is an entry of a folder.
type WorkspaceFile struct {
	Name    string    `json:"name" jsonschema:"it may hold line breaks, and anything else"`
	Escaped string    `json:"escaped,omitempty" jsonschema:"the name for a URL, where it is no UTF-8"`
	Type    string    `json:"type" jsonschema:"file, folder, link or other"`
	Size    int64     `json:"size,omitempty" jsonschema:"of a file, in bytes"`
	ModTime time.Time `json:"modified,omitzero"`
	Links   int64     `json:"links,omitempty" jsonschema:"how many names a file has, where that is more than one"`
	Target  string    `json:"target,omitempty" jsonschema:"of a link"`
}

func shownFile(f *workspace.File) WorkspaceFile {
	out := WorkspaceFile{Name: f.Name, Type: f.Type, Size: f.Size, ModTime: f.ModTime, Target: f.Target}
	if !utf8.ValidString(f.Name) {
		out.Escaped = url.PathEscape(f.Name)
	}
	if f.Type == "file" && f.Links > 1 {
		out.Links = int64(min(f.Links, 1<<53))
	}
	return out
}

// files opens the files that a request means. The caller closes them.
func (a *api) files(c *call) (*workspace.Files, error) {
	w, err := a.spaces()
	if err != nil {
		return nil, err
	}
	return w.Files(c.ctx(), c.path("slug"), c.query["in"])
}

func (a *api) listFiles(c *call) error {
	after, err := c.after()
	if err != nil {
		return err
	}
	f, err := a.files(c)
	if err != nil {
		return err
	}
	defer f.Close()
	folder := c.query["path"]
	if folder == "" {
		folder = "."
	}
	name, err := nameOf(after)
	if err != nil {
		return err
	}
	page, err := f.List(c.ctx(), folder, workspace.FilesQuery{Hidden: c.query["hidden"] == "true", After: name, Limit: c.limit(defaultLimit)})
	if err != nil {
		return err
	}
	out := listOf[WorkspaceFile]{Items: shownAll(page.Files, shownFile)}
	if page.Next != "" {
		b, err := json.Marshal([]byte(page.Next)) // a name need not be text
		if err != nil {
			return err
		}
		out.Next = c.cursor(string(b))
	}
	return c.json(out)
}

// nameOf is the name that a cursor holds.
func nameOf(after string) (string, error) {
	if after == "" {
		return "", nil
	}
	var name []byte
	if err := json.Unmarshal([]byte(after), &name); err != nil {
		return "", refuse(outcome.Usage, "the cursor is of another list", "begin without one")
	}
	return string(name), nil
}

func (a *api) readFile(c *call) error {
	f, err := a.files(c)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := f.Open(c.query["path"], maxFile)
	if err != nil {
		return err
	}
	defer r.Close()
	c.header("Content-Type", octets)
	c.header("X-Content-Type-Options", "nosniff")
	c.header("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(c.query["path"])}))
	c.header("Content-Length", strconv.FormatInt(r.Size, 10))
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(fileTime))
	if _, err := io.CopyN(c.w, r, r.Size); err != nil { // it has become shorter, or the client is gone
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (a *api) writeFile(c *call) error {
	f, err := a.files(c)
	if err != nil {
		return err
	}
	defer f.Close()
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Now().Add(fileTime))
	_ = control.SetWriteDeadline(time.Now().Add(fileTime))
	dir, name := path.Split(c.query["path"])
	if dir == "" {
		dir = "."
	}
	made, err := f.Write(c.ctx(), dir, name, http.MaxBytesReader(c.w, c.r.Body, maxFile+1), maxFile)
	if err != nil {
		return err
	}
	return c.json(shownFile(made))
}

func (a *api) removeFile(c *call) error {
	f, err := a.files(c)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Remove(c.ctx(), c.query["path"]); err != nil {
		return err
	}
	return c.none()
}
