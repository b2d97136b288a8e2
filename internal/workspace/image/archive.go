package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"time"
)

// config is the configuration of an image in Docker's format.
type config struct {
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Created      time.Time `json:"created"`
	Config       runConfig `json:"config"`
	RootFS       struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []history `json:"history"`
}

type history struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// runConfig is what a container starts by default.
type runConfig struct {
	User       string            `json:"User,omitempty"`
	Env        []string          `json:"Env,omitempty"`
	Entrypoint []string          `json:"Entrypoint,omitempty"`
	Cmd        []string          `json:"Cmd,omitempty"`
	WorkingDir string            `json:"WorkingDir,omitempty"`
	Labels     map[string]string `json:"Labels,omitempty"`
}

// archive writes an image of one layer in the format of `docker save`. The same files and the same
// configuration produce the same bytes, and therefore the same id. The configuration is written
// last because it contains the layer's digest.
func archive(w io.Writer, files layer, c config, tags []string) error {
	size, err := files.length()
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	if err := t.WriteHeader(header("layer.tar", size)); err != nil {
		return err
	}
	digest := sha256.New()
	if err := files.write(io.MultiWriter(t, digest), true); err != nil {
		return err
	}
	c.RootFS.Type = "layers"
	c.RootFS.DiffIDs = []string{"sha256:" + hex.EncodeToString(digest.Sum(nil))}
	c.History = []history{{c.Created, "holdfast workspace image build"}}
	settings, err := json.Marshal(c)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(settings)
	name := hex.EncodeToString(sum[:]) + ".json"
	manifest, err := json.Marshal([]struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{{name, tags, []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{{name, settings}, {"manifest.json", manifest}} {
		if err := t.WriteHeader(header(f.name, int64(len(f.content)))); err != nil {
			return err
		}
		if _, err := t.Write(f.content); err != nil {
			return err
		}
	}
	return t.Close()
}

func header(name string, size int64) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size, ModTime: time.Unix(0, 0)}
}
