package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// untar reads an archive: its headers and data by name.
func untar(t *testing.T, r io.Reader) (map[string]*tar.Header, map[string][]byte) {
	t.Helper()
	headers, files := map[string]*tar.Header{}, map[string][]byte{}
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return headers, files
		} else if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(a)
		if err != nil {
			t.Fatal(err)
		}
		headers[h.Name], files[h.Name] = h, data
	}
}

// The image is a valid OCI layout with an image for each processor, and also has docker's own format.
func TestImage(t *testing.T) {
	r, builds := sampleRelease(t, "")
	data, err := r.image(builds)
	if err != nil {
		t.Fatal(err)
	}
	_, files := untar(t, bytes.NewReader(data))
	if string(files["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout: %s", files["oci-layout"])
	}
	blob := func(d descriptor, into any) []byte {
		t.Helper()
		data, ok := files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
		if !ok || len(data) != d.Size || d.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256(data)) {
			t.Fatalf("the blob of %+v is there: %v, %d bytes", d, ok, len(data))
		}
		if into != nil {
			if err := json.Unmarshal(data, into); err != nil {
				t.Fatal(err)
			}
		}
		return data
	}
	type index struct{ Manifests []descriptor }
	var top, both index
	if err := json.Unmarshal(files["index.json"], &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("%v, %+v", err, top)
	}
	blob(top.Manifests[0], &both)
	if len(both.Manifests) != 2 {
		t.Fatalf("%d images, want 2", len(both.Manifests))
	}
	var loads []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(files["manifest.json"], &loads); err != nil || len(loads) != 2 {
		t.Fatalf("%v, %+v", err, loads)
	}
	for i, m := range both.Manifests {
		b := builds[i]
		if *m.Platform != (platform{b.Arch, "linux"}) {
			t.Errorf("image %d is for %+v", i, m.Platform)
		}
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		blob(m, &manifest)
		var config struct {
			Architecture, OS string
			Config           struct {
				User            string
				Env, Entrypoint []string
				Labels          map[string]string
			}
			RootFS struct {
				IDs []string `json:"diff_ids"`
			}
		}
		blob(manifest.Config, &config)
		if config.Architecture != b.Arch || config.OS != "linux" || config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/usr/bin/holdfast" ||
			config.Config.Labels["org.opencontainers.image.revision"] != commit || config.Config.Labels["org.opencontainers.image.version"] != "0.9.0" {
			t.Errorf("%+v", config)
		}
		z, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0], nil)))
		if err != nil {
			t.Fatal(err)
		}
		layer, err := io.ReadAll(z)
		if err != nil || config.RootFS.IDs[0] != fmt.Sprintf("sha256:%x", sha256.Sum256(layer)) {
			t.Errorf("the layer's digest is not %s, %v", config.RootFS.IDs[0], err)
		}
		headers, content := untar(t, bytes.NewReader(layer))
		if !bytes.Equal(content["usr/bin/holdfast"], b.program) || headers["usr/bin/holdfast"].Mode != 0o755 ||
			headers["data/"].Mode != 0o700 || headers["data/"].Uid != imageUser || headers["tmp/"].Mode != 0o1777 {
			t.Errorf("%+v", headers)
		}
		if n := x509.NewCertPool(); !n.AppendCertsFromPEM(content["etc/ssl/certs/ca-certificates.crt"]) || bytes.Count(content["etc/ssl/certs/ca-certificates.crt"], []byte("BEGIN")) < 50 {
			t.Error("there are no certificates")
		}
		if loads[i].Config != "blobs/"+strings.Replace(manifest.Config.Digest, ":", "/", 1) || loads[i].Layers[0] != "blobs/"+strings.Replace(manifest.Layers[0].Digest, ":", "/", 1) {
			t.Errorf("docker load would get %+v", loads[i])
		}
	}
	if loads[0].RepoTags[0] != "holdfast:0.9.0" || loads[1].RepoTags[0] != "holdfast:0.9.0-arm64" {
		t.Errorf("%+v", loads)
	}
}

// An SBOM contains what SPDX 2.3 requires, and each relation refers to an existing element.
func TestSBOM(t *testing.T) {
	r, builds := sampleRelease(t, "")
	data, err := r.sbom(builds[0])
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Version      string `json:"spdxVersion"`
		License      string `json:"dataLicense"`
		ID           string `json:"SPDXID"`
		Name         string
		Namespace    string `json:"documentNamespace"`
		CreationInfo struct {
			Created  string
			Creators []string
		}
		Packages []struct {
			ID           string `json:"SPDXID"`
			Name         string
			Version      string `json:"versionInfo"`
			Download     string `json:"downloadLocation"`
			Declared     string `json:"licenseDeclared"`
			ExternalRefs []struct{ ReferenceType, ReferenceLocator string }
		}
		Relationships []struct{ SPDXElementID, RelationshipType, RelatedSPDXElement string }
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != "SPDX-2.3" || doc.License != "CC0-1.0" || doc.ID != "SPDXRef-DOCUMENT" || doc.Name != "holdfast_0.9.0_linux_amd64" ||
		!strings.HasPrefix(doc.Namespace, "https://") || doc.CreationInfo.Created != "2025-11-28T06:44:29Z" || len(doc.CreationInfo.Creators) == 0 {
		t.Errorf("%+v", doc)
	}
	ids := map[string]bool{doc.ID: true}
	var locators []string
	for _, p := range doc.Packages {
		if ids[p.ID] || !strings.HasPrefix(p.ID, "SPDXRef-") || notSPDX.MatchString(p.ID) || p.Name == "" || p.Version == "" || p.Download == "" || p.Declared == "" {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
		locators = append(locators, p.ExternalRefs[0].ReferenceLocator)
	}
	if got, want := strings.Join(locators, " "), "pkg:golang/github.com/holdfast-dev/holdfast@v0.9.0 pkg:golang/github.com/Ann/list@v1.2.3 pkg:golang/stdlib@1.26.1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(doc.Relationships) != len(doc.Packages) || doc.Relationships[0].RelationshipType != "DESCRIBES" {
		t.Errorf("%+v", doc.Relationships)
	}
	for _, rel := range doc.Relationships {
		if !ids[rel.SPDXElementID] || !ids[rel.RelatedSPDXElement] {
			t.Errorf("%+v leads nowhere", rel)
		}
	}
}

// The cask names each archive's checksum, and only a release of all systems has one.
func TestCask(t *testing.T) {
	r, builds := sampleRelease(t, "")
	if err := r.writeCask(); err != nil {
		t.Fatal(err)
	}
	cask := filepath.Join(r.out, "holdfast.rb")
	if _, err := os.Stat(cask); !os.IsNotExist(err) {
		t.Errorf("a cask without archives: %v", err)
	}
	writeAll(t, r, builds)
	got, err := os.ReadFile(cask)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range builds {
		data, err := os.ReadFile(filepath.Join(r.out, r.name(b.target, ".tar.gz")))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got), fmt.Sprintf("%x", sha256.Sum256(data))) {
			t.Errorf("the cask does not have the checksum of the archive for %s", b.target)
		}
	}
	if strings.Contains(string(got), "%!") {
		t.Errorf("%s", got)
	}
}
