package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
	imageUser    = 65532 // no account has it
)

// descriptor refers to a blob. https://github.com/opencontainers/image-spec
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// layout is an image archive that is being written: its blobs, keyed by digest, and their digests
// in the order in which they were added.
type layout struct {
	names []string
	blobs map[string][]byte
}

func (l *layout) add(kind string, data []byte) descriptor {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	if _, ok := l.blobs[name]; !ok {
		l.names = append(l.names, name)
		l.blobs[name] = data
	}
	return descriptor{MediaType: kind, Digest: "sha256:" + name, Size: len(data)}
}

func (l *layout) addJSON(kind string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return l.add(kind, data), err
}

// certificates are the authorities that Mozilla trusts unconditionally, as PEM.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

const certificateNotice = "\n" + line + `the certificates in /etc/ssl/certs of this image
licence: MPL-2.0
source: golang.org/x/crypto/x509roots/fallback, from Mozilla's list

This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0.
If a copy of the MPL was not distributed with this file, You can obtain one at
https://mozilla.org/MPL/2.0/.
`

// imageFiles returns the files of an image: the program, trusted certificates, and folders that it
// may write.
func imageFiles(b *build, licence []byte) []entry {
	return []entry{
		{Name: "data/", Mode: 0o700, ID: imageUser},
		{Name: "etc/", Mode: 0o755}, {Name: "etc/ssl/", Mode: 0o755}, {Name: "etc/ssl/certs/", Mode: 0o755},
		{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Data: certificates()},
		{Name: "tmp/", Mode: 0o1777},
		{Name: "usr/", Mode: 0o755}, {Name: "usr/bin/", Mode: 0o755},
		{Name: "usr/bin/holdfast", Mode: 0o755, Data: b.program},
		{Name: "usr/share/", Mode: 0o755}, {Name: "usr/share/licenses/", Mode: 0o755}, {Name: "usr/share/licenses/holdfast/", Mode: 0o755},
		{Name: "usr/share/licenses/holdfast/LICENSE", Mode: 0o644, Data: licence},
		{Name: "usr/share/licenses/holdfast/THIRD_PARTY_NOTICES.txt", Mode: 0o644, Data: slices.Concat(b.notices, []byte(certificateNotice))},
	}
}

// labels describe an image. https://specs.opencontainers.org/image-spec/annotations/
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         "holdfast",
		"org.opencontainers.image.description":   summary,
		"org.opencontainers.image.version":       r.Version,
		"org.opencontainers.image.revision":      r.Commit,
		"org.opencontainers.image.created":       r.Time.Format(time.RFC3339),
		"org.opencontainers.image.source":        homepage,
		"org.opencontainers.image.documentation": homepage + "/blob/main/docs/install.md",
		"org.opencontainers.image.licenses":      "Apache-2.0",
	}
}

// addImage adds the image of one build and returns its manifest, and the entry for docker load.
func (r *release) addImage(l *layout, b *build) (descriptor, map[string]any, error) {
	licence := b.modules[0].Texts[slices.IndexFunc(b.modules[0].Texts, func(t text) bool { return t.Name == "LICENSE" })].Data
	files, err := tarball(imageFiles(b, licence), r.Time)
	if err != nil {
		return descriptor{}, nil, err
	}
	compressed, err := gzipped(files)
	if err != nil {
		return descriptor{}, nil, err
	}
	layer := l.add(layerType, compressed)
	config, err := l.addJSON(configType, map[string]any{
		"architecture": b.Arch, "os": b.OS, "created": r.Time.Format(time.RFC3339),
		"config": map[string]any{
			"User": fmt.Sprintf("%d:%d", imageUser, imageUser), "Env": []string{"PATH=/usr/bin", "HOLDFAST_HOME=/data"},
			"Entrypoint": []string{"/usr/bin/holdfast"}, "WorkingDir": "/", "Volumes": map[string]any{"/data": struct{}{}}, "Labels": r.labels(),
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(files))}},
		"history": []map[string]string{{"created": r.Time.Format(time.RFC3339), "created_by": "holdfast release"}},
	})
	if err != nil {
		return descriptor{}, nil, err
	}
	manifest, err := l.addJSON(manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{layer}, "annotations": r.labels(),
	})
	manifest.Platform = &platform{b.Arch, b.OS}
	path := func(d descriptor) string { return "blobs/sha256/" + d.Digest[len("sha256:"):] }
	tag := "holdfast:" + r.Version
	if b.Arch != "amd64" {
		tag += "-" + b.Arch
	}
	return manifest, map[string]any{"Config": path(config), "RepoTags": []string{tag}, "Layers": []string{path(layer)}}, err
}

// image returns an archive that is both an OCI layout, with one image for several processors, and
// in the format of `docker save`, so that old and new engines can load it.
func (r *release) image(builds []*build) ([]byte, error) {
	l := &layout{blobs: map[string][]byte{}}
	var manifests []descriptor
	var loads []map[string]any
	for _, b := range builds {
		if b.OS != "linux" {
			continue
		}
		manifest, load, err := r.addImage(l, b)
		if err != nil {
			return nil, err
		}
		manifests, loads = append(manifests, manifest), append(loads, load)
	}
	both, err := l.addJSON(indexType, map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": manifests, "annotations": r.labels()})
	if err != nil {
		return nil, err
	}
	both.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.Version, "io.containerd.image.name": "docker.io/library/holdfast:" + r.Version}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{both}})
	if err != nil {
		return nil, err
	}
	load, err := json.Marshal(loads)
	if err != nil {
		return nil, err
	}
	entries := []entry{{Name: "blobs/", Mode: 0o755}, {Name: "blobs/sha256/", Mode: 0o755}}
	for _, name := range l.names {
		entries = append(entries, entry{Name: "blobs/sha256/" + name, Mode: 0o644, Data: l.blobs[name]})
	}
	return tarball(append(entries,
		entry{Name: "index.json", Mode: 0o644, Data: index},
		entry{Name: "manifest.json", Mode: 0o644, Data: load},
		entry{Name: "oci-layout", Mode: 0o644, Data: []byte(`{"imageLayoutVersion":"1.0.0"}`)}), r.Time)
}

// writeImage writes the image of the builds for Linux.
func (r *release) writeImage(builds []*build) error {
	if !slices.ContainsFunc(builds, func(b *build) bool { return b.OS == "linux" }) {
		return nil
	}
	data, err := r.image(builds)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	return r.write("holdfast_"+r.Version+"_image.tar", data, 0o644)
}
