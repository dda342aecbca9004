//! The built-in templates.

use std::collections::BTreeMap;

use super::{Files, Template};

/// The files of a folder in `built_in/`.
macro_rules! files {
    ($folder:literal: $($name:literal),*) => {
        Files::BuiltIn(&[$(($name, include_str!(concat!("built_in/", $folder, "/", $name)))),*])
    };
}

/// The built-in templates by their names.
pub(crate) fn built_in() -> BTreeMap<String, Template> {
    let python = template("Python", "A script and a test", "python", "main.py");
    let cpp = template("C++", "Two files, compiled at a click", "cpp", "main.cpp");
    let web = template("Web server", "A page served by Node.js on port 3000", "node", "server.js");
    [
        ("python", Template { files: files!("python": "main.py", "test_main.py"), ..python }),
        ("cpp", Template { files: files!("cpp": "main.cpp", "primes.hpp"), ..cpp }),
        ("web", Template { files: files!("web": "server.js", "index.html"), ..web }),
    ]
    .map(|(name, template)| (name.to_owned(), template))
    .into()
}

fn template(title: &str, description: &str, language: &str, open: &str) -> Template {
    Template {
        title: title.to_owned(),
        description: description.to_owned(),
        language: Some(language.to_owned()),
        open: Some(open.to_owned()),
        ..Template::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_is_opened_is_one_of_the_template() {
        for (name, template) in built_in() {
            let Files::BuiltIn(files) = template.files else { panic!("{name} has no files") };
            assert!(files.iter().any(|(path, _)| Some(*path) == template.open.as_deref()), "{name}");
        }
    }
}
