// Fields that depend on others, and passwords that can be seen. Without it, all fields are shown, with their condition in words.
function value(form, name) {
  const found = [...form.elements].filter((each) => each.name === name && each.type !== "hidden");
  const one = found.find((each) => each.type !== "radio" || each.checked);
  return one === undefined ? "" : one.type === "checkbox" ? String(one.checked) : one.value;
}
function follow(form) {
  for (const field of form.querySelectorAll("[data-depends]")) {
    const shown = value(form, field.dataset.depends) === field.dataset.value;
    field.hidden = !shown;
    for (const each of field.querySelectorAll("input, select, textarea")) each.disabled = !shown;
  }
}
for (const form of document.querySelectorAll("form[data-form]")) {
  follow(form);
  form.addEventListener("input", () => follow(form));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.ctrlKey) form.requestSubmit(form.querySelector(".actions button:not([type=button])"));
  });
  for (const input of form.querySelectorAll("input[data-show]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn small";
    button.textContent = "Show";
    button.addEventListener("click", () => {
      input.type = input.type === "password" ? "text" : "password";
      button.textContent = input.type === "password" ? "Show" : "Hide";
    });
    input.after(button);
  }
}
