// Models side by side: on a narrow screen a click enlarges the figure, and makes it fit again.

for (const figure of document.querySelectorAll("figure .wide"))
  figure.addEventListener("click", () => figure.classList.toggle("enlarged"));
