package files

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

type notebookInput struct {
	Path   string `json:"notebook_path" jsonschema:"The notebook to change (.ipynb): absolute, or relative to the current directory"`
	ID     string `json:"cell_id,omitempty" jsonschema:"The id of the cell, as shown by Read. With insert, the new cell goes after this cell, or to the start if cell_number is not set either"`
	Number *int   `json:"cell_number,omitempty" jsonschema:"The number of the cell, from 0, instead of cell_id. With insert, the new cell gets this number"`
	Source string `json:"new_source,omitempty" jsonschema:"The complete new source of the cell"`
	Type   string `json:"cell_type,omitempty" jsonschema:"code, markdown or raw. Required for a new cell; otherwise the default is the current type"`
	Mode   string `json:"edit_mode,omitempty" jsonschema:"replace (the default), insert or delete"`
}

func (in *notebookInput) edit(call *tool.Call) cellEdit {
	return cellEdit{ID: in.ID, Number: in.Number, Source: in.Source, Type: in.Type, Mode: in.Mode, salt: call.Session + "\x00" + call.ID}
}

func (f *Files) newNotebookEdit() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name: "NotebookEdit",
		Description: "Replaces, inserts or deletes one cell of a Jupyter notebook that you have read. " +
			"Replacing the source of a code cell clears its outputs; the rest of the file does not change.",
	}, f.editNotebook, f.notebookRequests)
}

func (f *Files) notebookRequests(call *tool.Call, in notebookInput) ([]policy.Request, error) {
	e := in.edit(call)
	if err := e.check(); err != nil {
		return nil, err
	}
	if !isNotebook(in.Path) {
		return nil, fmt.Errorf("%.200s is not a notebook (.ipynb); use Edit", in.Path)
	}
	p, r, err := f.request(call, policy.OpWrite, in.Path)
	if err != nil {
		return nil, err
	}
	r.Display = f.preview(p, func(old []byte) ([]byte, error) {
		out, _, err := changeNotebook(old, e)
		return out, err
	})
	return []policy.Request{r}, nil
}

// changeNotebook changes a notebook's bytes and keeps a byte order mark.
func changeNotebook(old []byte, e cellEdit) (out []byte, did string, err error) {
	body, marked := strings.CutPrefix(string(old), string(bom))
	n, err := parseNotebook([]byte(body))
	if err != nil {
		return nil, "", err
	}
	if out, did, err = n.apply(e); err == nil && marked {
		out = append(slices.Clone(bom), out...)
	}
	return out, did, err
}

// editedNotebook reads a notebook and changes one cell, or returns the reason why it cannot.
func (f *Files) editedNotebook(p workdir.Path, e cellEdit) (was originalFile, out []byte, did string, err error) {
	if was, err = f.current(p); err == nil {
		err = writable(p)
	}
	if err != nil {
		return was, nil, "", err
	}
	if out, did, err = changeNotebook(was.data, e); err != nil {
		return was, nil, "", fmt.Errorf("%s: %w", p.Abs, err)
	}
	if len(out) > maxWhole {
		return was, nil, "", fmt.Errorf("%s: the change would make the file larger than %d bytes", p.Abs, maxWhole)
	}
	return was, out, did, nil
}

func (f *Files) editNotebook(ctx context.Context, call *tool.Call, in notebookInput) (tool.Result, error) {
	f.changing.Lock()
	defer f.changing.Unlock()
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	p, err := f.locate(call, in.Path)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	was, out, did, err := f.editedNotebook(p, in.edit(call))
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	changes, err := f.replace(ctx, call, p, out, was)
	r := tool.Text(fmt.Sprintf("%s: %s", p.Abs, did))
	if err != nil {
		r = tool.Failure(pathErrorText(p, err))
	}
	r.Changes = changes
	return r, nil
}
