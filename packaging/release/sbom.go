package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// The parts of SPDX 2.3 that the SBOM uses. https://spdx.github.io/spdx-spec/v2.3/
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		License       string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID        string          `json:"SPDXID"`
		Name      string          `json:"name"`
		Version   string          `json:"versionInfo"`
		Purpose   string          `json:"primaryPackagePurpose,omitempty"`
		Download  string          `json:"downloadLocation"`
		File      string          `json:"packageFileName,omitempty"`
		Analyzed  bool            `json:"filesAnalyzed"`
		Checksums []spdxChecksum  `json:"checksums,omitempty"`
		Concluded string          `json:"licenseConcluded"`
		Declared  string          `json:"licenseDeclared"`
		Copyright string          `json:"copyrightText"`
		Refs      []spdxReference `json:"externalRefs"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxReference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

var notSPDX = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// sbom lists the modules of a build from its build info.
func (r *release) sbom(b *build) ([]byte, error) {
	sum := sha256.Sum256(b.program)
	name := r.name(b.target, "")
	doc := spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: homepage + "/spdx/" + url.PathEscape(name) + "/" + hex.EncodeToString(sum[:]),
		Creation:  spdxCreation{r.Time.Format(time.RFC3339), []string{"Organization: Holdfast", "Tool: holdfast-release-" + r.Version}},
	}
	for i, m := range b.modules {
		// The module std has versions such as go1.26.1. In a purl its name is stdlib.
		version, purl := strings.TrimPrefix(m.Version, "go"), "pkg:golang/"+m.Path+"@"+m.Version
		if m.Path == "std" {
			version, _, _ = strings.Cut(version, " ")
			purl = "pkg:golang/stdlib@" + version
		}
		p := spdxPackage{
			ID: "SPDXRef-Package-" + strings.Trim(notSPDX.ReplaceAllString(m.Path, "-"), "-"), Name: m.Path, Version: version, Download: m.Source,
			Concluded: m.Licence, Declared: m.Licence, Copyright: "NOASSERTION",
			Refs: []spdxReference{{"PACKAGE-MANAGER", "purl", purl}},
		}
		kind, from, to := "DEPENDS_ON", doc.packageID(), p.ID
		if i == 0 {
			p.Purpose, p.File, p.Checksums = "APPLICATION", "holdfast", []spdxChecksum{{"SHA256", hex.EncodeToString(sum[:])}}
			p.Declared = "Apache-2.0"
			kind, from = "DESCRIBES", doc.ID
		}
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, spdxRelationship{from, kind, to})
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	return append(data, '\n'), err
}

// packageID is the ID of the program.
func (d *spdxDocument) packageID() string {
	if len(d.Packages) == 0 {
		return d.ID
	}
	return d.Packages[0].ID
}

// writeSBOM writes the list of the modules linked into a build.
func (r *release) writeSBOM(b *build) error {
	data, err := r.sbom(b)
	if err != nil {
		return fmt.Errorf("sbom: %w", err)
	}
	return r.write(r.name(b.target, ".spdx.json"), data, 0o644)
}
