// Applies the theme that the user chose, before the page is drawn. Nothing else is stored in the browser.
(() => {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
