package compose

import (
	"archive/tar"
	"path"

	"pestle/workload/antithesis/composer"
	"pestle/workload/antithesis/quiet"
)

const (
	stopFaultsPath = "/" + quiet.LinkName

	// templatePath is where Antithesis looks for the commands of a test template.
	templatePath = "/opt/antithesis/test/v1/pestle"
)

// links are the other names of the program in the image.
func links() []string {
	list := []string{stopFaultsPath}
	for _, c := range composer.Commands() {
		list = append(list, path.Join(templatePath, c.Name))
	}
	return list
}

// writeLinks writes the links, and the directories they are in.
func writeLinks(archive *tar.Writer) error {
	made := map[string]bool{"/": true}
	var mkdir func(string) error
	mkdir = func(dir string) error {
		if made[dir] {
			return nil
		}
		if err := mkdir(path.Dir(dir)); err != nil {
			return err
		}
		made[dir] = true
		return archive.WriteHeader(&tar.Header{Name: dir[1:] + "/", Typeflag: tar.TypeDir, Mode: 0o755})
	}
	for _, link := range links() {
		if err := mkdir(path.Dir(link)); err != nil {
			return err
		}
		err := archive.WriteHeader(&tar.Header{Name: link[1:], Typeflag: tar.TypeSymlink, Linkname: programPath, Mode: 0o777})
		if err != nil {
			return err
		}
	}
	return nil
}
