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

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

const (
	octets = "application/octet-stream"
	// fileTimeout is the time limit for the transfer of a file.
	fileTimeout = 10 * time.Minute
	// maxFile is the maximum size of a transferred file, in bytes.
	maxFile = workspace.MaxUpload
)

func apiFile(f *workspace.File) routes.WorkspaceFile {
	out := routes.WorkspaceFile{Name: f.Name, Type: f.Type, Size: f.Size, ModTime: f.ModTime, Target: f.Target}
	if !utf8.ValidString(f.Name) {
		out.Escaped = url.PathEscape(f.Name)
	}
	if f.Type == "file" && f.Links > 1 {
		out.Links = int64(min(f.Links, 1<<53))
	}
	return out
}

// files opens the folder of the request. The caller closes it.
func (a *service) files(c *call) (*workspace.Files, error) {
	w, err := a.workspaces()
	if err != nil {
		return nil, err
	}
	return w.Files(c.ctx(), c.path("slug"), c.query["in"])
}

func (a *service) listFiles(c *call) error {
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
	page, err := f.List(c.ctx(), folder, workspace.FilesQuery{Hidden: c.query["hidden"] == "true", After: name, Limit: c.limit()})
	if err != nil {
		return err
	}
	out := api.Page[routes.WorkspaceFile]{Items: apiList(page.Files, apiFile)}
	if page.Next != "" {
		b, err := json.Marshal([]byte(page.Next)) // a file name may be invalid UTF-8
		if err != nil {
			return err
		}
		out.Next = c.cursor(string(b))
	}
	return c.json(out)
}

// nameOf returns the file name in a cursor.
func nameOf(after string) (string, error) {
	if after == "" {
		return "", nil
	}
	var name []byte
	if err := json.Unmarshal([]byte(after), &name); err != nil {
		return "", refuse(outcome.Usage, "the cursor does not belong to this list", "restart the list without a cursor")
	}
	return string(name), nil
}

func (a *service) readFile(c *call) error {
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
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(fileTimeout))
	if _, err := io.CopyN(c.w, r, r.Size); err != nil { // the file shrank, or the client disconnected
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (a *service) writeFile(c *call) error {
	f, err := a.files(c)
	if err != nil {
		return err
	}
	defer f.Close()
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Now().Add(fileTimeout))
	_ = control.SetWriteDeadline(time.Now().Add(fileTimeout))
	dir, name := path.Split(c.query["path"])
	if dir == "" {
		dir = "."
	}
	made, err := f.Write(c.ctx(), dir, name, http.MaxBytesReader(c.w, c.r.Body, maxFile+1), maxFile)
	if err != nil {
		return err
	}
	return c.json(apiFile(made))
}

func (a *service) removeFile(c *call) error {
	f, err := a.files(c)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Remove(c.ctx(), c.query["path"]); err != nil {
		return err
	}
	return c.noContent()
}
