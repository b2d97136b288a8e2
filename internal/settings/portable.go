package settings

import (
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/importsettings"
	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// Portable has the layers from outside the project's folder, for a session that runs where they are
// not available: in a container. It can be sent as JSON.
type Portable struct {
	Managed []PortableFile `json:"managed,omitempty"` // the strongest first
	User    *PortableFile  `json:"user,omitempty"`
	Trust   *TrustedFolder `json:"trust,omitempty"` // in the project's folder

	// Foreign are files of other programs, the strongest first.
	Foreign []PortableForeign `json:"foreign,omitempty"`
}

// PortableForeign is a settings file of another program.
type PortableForeign struct {
	PortableFile
	Layer   string                 `json:"layer"`
	Program importsettings.Program `json:"program"`
	Kind    importsettings.Kind    `json:"kind"`
}

// PortableFile is a settings file.
type PortableFile struct {
	Name string `json:"name"` // path from which the file was read, for display
	Text string `json:"text"`
}

// NewPortable reads the layers that the options o name, for a session that works on the content of o.Cwd
// in another place, such as a container. Errors are those of [Load] for unreadable files; the
// content is checked when it is loaded.
func NewPortable(o *Options) (*Portable, error) {
	opt, err := o.complete()
	if err != nil {
		return nil, err
	}
	opt.Portable = nil
	managed, err1 := opt.managed()
	user, err2 := opt.user()
	if err := joinErrors(err1, err2); err != nil {
		return nil, err
	}
	trust, err := OpenTrust(opt.Home)
	if err != nil {
		return nil, err
	}
	g := &Portable{}
	for _, s := range managed {
		g.Managed = append(g.Managed, PortableFile{s.file, string(s.data)})
	}
	if readsForeign(managed, user) {
		others, err := opt.foreignSources(append(opt.foreignManaged(), opt.foreignUser()...))
		if err != nil {
			return nil, err
		}
		for _, s := range others {
			g.Foreign = append(g.Foreign, PortableForeign{PortableFile{s.file, string(s.data)}, s.layer, s.program, s.kind})
		}
	}
	for _, s := range user {
		g.User = &PortableFile{s.file, string(s.data)}
	}
	if f, ok := trust.doc.Folders[opt.Project]; ok {
		g.Trust = &f
	}
	return g, nil
}

func (g *Portable) managed(o *Options) []source {
	var list []source
	for _, f := range g.Managed {
		list = append(list, source{layer: layernames.Managed, file: f.Name, dir: filepath.Dir(f.Name), user: o.User, data: []byte(f.Text)})
	}
	return list
}

func (g *Portable) user(o *Options) []source {
	if g.User == nil {
		return nil
	}
	return []source{{layer: layernames.User, file: g.User.Name, dir: o.Home, user: o.User, data: []byte(g.User.Text)}}
}

// foreign returns the files of other programs of a layer.
func (g *Portable) foreign(o *Options, layer string) []source {
	var list []source
	for _, f := range g.Foreign {
		if f.Layer == layer {
			list = append(list, source{
				layer: layer, file: f.Name, dir: filepath.Dir(f.Name), user: o.User, data: []byte(f.Text), program: f.Program, kind: f.Kind,
			})
		}
	}
	return list
}

// trust returns the trust list.
func (o *Options) trust() (*Trust, error) {
	if o.Portable == nil {
		return OpenTrust(o.Home)
	}
	t := &Trust{doc: trustDoc{Folders: map[string]TrustedFolder{}}}
	if o.Portable.Trust != nil {
		t.doc.Folders[o.Project] = *o.Portable.Trust
	}
	return t, nil
}
